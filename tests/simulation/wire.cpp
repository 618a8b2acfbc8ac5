// SPDX-License-Identifier: MIT
#include "wire.hpp"

#include "distlock/error.hpp"

#include <algorithm>
#include <utility>

namespace distlock::simulation {

/// One TCP connection, so to speak. Messages under way keep it alive, and may arrive when its client has
/// forgotten it.
struct wire::stream {
    client& me;
    site& to;
    std::shared_ptr<chance> dice;
    std::unique_ptr<session> at_server{};
    std::uint64_t incarnation = 0;
    bool given_up = false; // by the client
    bool stuck = false;    // nothing gets through to the server any more
    bool mute = false;     // nothing comes back any more
    bool broken = false;   // the client has seen its end, behind the replies in the inbox
    std::int64_t last_to_server = 0;
    std::int64_t last_to_client = 0;
    std::deque<reply> inbox{};

    std::int64_t trip() const {
        const auto& drawn = me.where().drawn();
        return dice->happens(drawn.delays) ? dice->between(drawn.longest_trip, drawn.longest_delay)
                                           : dice->scale(drawn.shortest_trip, drawn.longest_trip);
    }
    /// When the next message of this direction arrives: never before the one sent before it.
    std::int64_t arrival(std::int64_t& last) const { return last = std::max(last, me.where().now() + trip()); }

    void run(const std::shared_ptr<stream>& self, const std::vector<std::string>& argv, bool loses_reply,
             bool cuts_after);
    void tell(std::span<const std::string_view> words, const reply& answer) const;
};

wire::wire(client& whose, site& to)
    : me_{whose}
    , site_{to}
    , dice_{std::make_shared<chance>(whose.where().drawn().seed, "wire of " + std::to_string(whose.number()))} {}

wire::~wire() { drop(); }

wire::time_point wire::bounded(time_point deadline) const {
    return std::min(deadline, me_.clock() + std::chrono::nanoseconds{me_.where().drawn().command_timeout});
}

void wire::drop() {
    if (!stream_) {
        return;
    }
    stream_->given_up = true;
    if (sent_ != received_) {
        unanswered_ = stream_;
    }
    // The end of the stream follows what was sent before.
    me_.where().at(stream_->arrival(stream_->last_to_server), [on = stream_] { on->at_server.reset(); });
    stream_.reset();
    received_ = sent_;
}

void wire::connect(time_point deadline, std::error_code& ec) {
    memory_ = {};
    auto made = std::make_shared<stream>(stream{me_, site_, dice_});
    auto& world = me_.where();
    bool answered = false;
    bool refused = false;
    world.at(world.now() + made->trip(), [&, made, old = unanswered_, this] {
        if (made->given_up) {
            return;
        }
        auto* const up = site_.serving();
        refused = up == nullptr;
        if (up != nullptr) {
            made->at_server = std::make_unique<session>(*up);
            made->incarnation = site_.incarnation();
            if (old && old->at_server && world.drawn().kills_old_connections) {
                old->at_server.reset();
            }
        }
        answered = true;
        world.at(world.now() + made->trip(), [made] {
            if (!made->given_up) {
                made->me.wake();
            }
        });
    });
    const auto limit = bounded(deadline);
    try {
        while (!answered && me_.clock() < limit) {
            me_.wait(limit);
        }
    } catch (...) {
        made->given_up = true; // the event above holds references to this frame
        throw;
    }
    if (!answered || refused) {
        made->given_up = true;
        ec = errc::unreachable;
        return;
    }
    unanswered_.reset();
    stream_ = std::move(made);
}

void wire::send(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec) {
    ec.clear();
    if (me_.is_killed()) {
        throw killed{};
    }
    if (stream_ && stream_->broken && sent_ == received_) {
        drop();
    }
    if (!stream_) {
        connect(deadline, ec);
        if (ec) {
            return;
        }
    }
    const auto& drawn = me_.where().drawn();
    const bool cut = dice_->happens(drawn.cuts);
    const auto where = dice_->between(0, 3);
    if (cut && where == 0) { // before: nothing was written
        ec = errc::unreachable;
        stream_->broken = true;
        drop();
        return;
    }
    if (cut && where == 1) { // in the middle: the server never has all of it
        ec = errc::unknown_outcome;
        stream_->stuck = true;
        drop();
        return;
    }
    ++sent_;
    const bool loses_reply = dice_->happens(drawn.loses_reply);
    if (stream_->stuck || dice_->happens(drawn.loses_request)) {
        stream_->stuck = true;
        return;
    }
    std::vector<std::string> words{argv.begin(), argv.end()};
    const auto due = stream_->arrival(stream_->last_to_server);
    me_.where().at(due, [on = stream_, words = std::move(words), loses_reply, cuts_after = cut && where == 2,
                         cuts_both = cut && where == 3] {
        if (cuts_both) {
            on->stuck = true;
        }
        on->run(on, words, loses_reply, cuts_after);
    });
}

void wire::stream::run(const std::shared_ptr<stream>& self, const std::vector<std::string>& argv, bool loses_reply,
                       bool cuts_after) {
    auto& world = me.where();
    auto* const up = to.serving();
    const bool there = up != nullptr && at_server && at_server->is_open() && incarnation == to.incarnation() && !stuck;
    if (!there) {
        at_server.reset();
        world.at(arrival(last_to_client), [self] {
            self->broken = true;
            if (!self->given_up) {
                self->me.wake();
            }
        });
        return;
    }
    const std::vector<std::string_view> words{argv.begin(), argv.end()};
    to.observe(-1);
    if (words.size() > 2 && words[0] == "SET" && words[1] == to.books().key()) {
        to.books().asked(words[2], me.number(), given_up);
    }
    auto answer = up->execute(*at_server, words);
    if (world.tells()) {
        tell(words, *answer);
    }
    to.observe(me.number());
    mute = mute || loses_reply;
    if (mute) {
        return;
    }
    world.at(arrival(last_to_client), [self, cuts_after, answer = std::move(*answer)] {
        if (cuts_after) {
            self->broken = true;
        } else {
            self->inbox.push_back(answer);
        }
        if (!self->given_up) {
            self->me.wake();
        }
    });
}

void wire::stream::tell(std::span<const std::string_view> words, const reply& answer) const {
    std::string line = given_up ? "(late)" : "";
    for (const auto word : words) {
        line.append(" ").append(word.substr(0, word.find('\n')).substr(0, 24));
    }
    line += " -> ";
    line += answer.is_integer() ? std::to_string(answer.as_integer())
            : answer.is_nil()   ? "nil"
            : answer.is_array() ? "array"
                                : answer.text().substr(0, 40);
    me.where().tell("for " + std::to_string(me.number()), line);
}

reply wire::receive(time_point deadline, std::error_code& ec) {
    ec.clear();
    const auto limit = bounded(deadline);
    for (;;) {
        if (!stream_ || sent_ == received_) {
            ec = errc::unknown_outcome;
            drop();
            return {};
        }
        if (!stream_->inbox.empty()) {
            auto answer = std::move(stream_->inbox.front());
            stream_->inbox.pop_front();
            ++received_;
            return answer;
        }
        if (stream_->broken || me_.clock() >= limit) {
            ec = errc::unknown_outcome;
            drop();
            return {};
        }
        me_.wait(limit);
    }
}

reply wire::execute(std::span<const std::string_view> argv, time_point deadline, std::error_code& ec) {
    send(argv, deadline, ec);
    reply answer;
    while (!ec && sent_ != received_) {
        answer = receive(deadline, ec);
    }
    return answer;
}

} // namespace distlock::simulation
