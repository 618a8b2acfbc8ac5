// SPDX-License-Identifier: MIT
#include "support/fault_proxy.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace distlock::test {

at_command at_command::nth(std::size_t n) {
    return {[](const auto&) { return true; }, n};
}
at_command at_command::word(std::string first, std::size_t n) {
    return {[first = std::move(first)](const auto& argv) { return !argv.empty() && argv[0] == first; }, n};
}
at_command at_command::every(std::string first) { return word(std::move(first), 0); }
at_command at_command::every() { return nth(0); }

std::size_t proxy_traffic::count(std::string_view first) const {
    return static_cast<std::size_t>(std::count_if(commands.begin(), commands.end(),
                                                  [&](const auto& argv) { return !argv.empty() && argv[0] == first; }));
}

fault_proxy::fault_proxy(const redis_server& server)
    : fault_proxy{server.socket_path()} {}

fault_proxy::fault_proxy(std::filesystem::path server_socket)
    : server_socket_{std::move(server_socket)}
    , doors_{dir_.path() / "proxy.sock"}
    , thread_{[this](auto& watched, auto& wake) { prepare(watched, wake); }, [this] { step(); }} {}

fault_proxy::~fault_proxy() = default;

void fault_proxy::on(at_command where, fault what) {
    thread_.run([&] { rules_.push_back({std::move(where), std::move(what)}); });
}

void fault_proxy::clear() {
    thread_.run([&] { rules_.clear(); });
}

void fault_proxy::set_mode(mode now) {
    thread_.run([&] {
        mode_ = now;
        if (now == mode::refuse) {
            doors_.close();
        } else {
            doors_.open();
        }
        if (now == mode::black_hole) {
            for (auto& each : sessions_) {
                fall_silent(each);
            }
        }
    });
}

void fault_proxy::cut_all() {
    thread_.run([&] {
        const auto count = sessions_.size();
        sessions_.clear();
        note([&] {
            traffic_.closed += count;
            held_ = 0;
        });
    });
}

std::size_t fault_proxy::deliver_held() {
    std::size_t count = 0;
    thread_.run([&] {
        for (auto& each : sessions_) {
            each.to_server.release_held(clock::now());
        }
        const std::lock_guard guard{mutex_};
        count = held_;
    });
    std::unique_lock guard{mutex_};
    if (!changed_.wait_for(guard, patience, [&] { return held_ == 0; })) {
        throw std::runtime_error{"the server does not answer a command delivered late"};
    }
    return count;
}

proxy_traffic fault_proxy::traffic() const {
    const std::lock_guard guard{mutex_};
    return traffic_;
}

bool fault_proxy::wait_for(const std::function<bool(const proxy_traffic&)>& condition,
                           std::chrono::milliseconds limit) const {
    std::unique_lock guard{mutex_};
    return changed_.wait_for(guard, limit, [&] { return condition(traffic_); });
}

template <class Change>
void fault_proxy::note(Change&& change) {
    const std::lock_guard guard{mutex_};
    change();
    changed_.notify_all();
}

void fault_proxy::prepare(std::vector<pollfd>& watched, clock::time_point& wake) {
    doors_.watch(watched);
    const auto watch = [&](const unique_fd& fd, const outbox& out) {
        const bool due = out.is_due(clock::now());
        if (!due) {
            wake = std::min(wake, out.next_due());
        }
        if (fd) {
            watched.push_back({fd.get(), static_cast<short>(due ? POLLIN | POLLOUT : POLLIN), 0});
        }
    };
    for (const auto& each : sessions_) {
        watch(each.client, each.to_client);
        watch(each.server, each.to_server);
    }
}

void fault_proxy::step() {
    while (auto client = doors_.next()) {
        welcome(std::move(client));
    }
    sessions_.remove_if([this](session& each) {
        if (serve(each)) {
            return false;
        }
        fall_silent(each);
        note([&] { ++traffic_.closed; });
        return true;
    });
}

void fault_proxy::welcome(unique_fd client) {
    note([&] { ++traffic_.connections; });
    session made{std::move(client), {}};
    made.silent = mode_ == mode::black_hole;
    if (!made.silent) {
        made.server = connect_unix(server_socket_);
        if (!made.server) { // as if the client had found nobody
            note([&] { ++traffic_.closed; });
            return;
        }
    }
    sessions_.push_back(std::move(made));
}

// False: the session is over.
bool fault_proxy::serve(session& one) {
    if (one.silent) {
        return serve_silence(one);
    }
    if (one.client && !receive_into(one.from_client, one.client)) {
        take_commands(one); // what came with the end of the stream
        if (!client_left(one)) {
            return false;
        }
    }
    take_commands(one);
    if (one.server && one.to_server.flush(one.server, clock::now()) == outbox::then::cut) {
        return false;
    }
    if (one.server && !receive_into(one.from_server, one.server)) {
        one.server.reset();
    }
    take_replies(one);
    settle(one);
    if (one.client) {
        switch (one.to_client.flush(one.client, clock::now())) {
        case outbox::then::cut:
            return false;
        case outbox::then::silence:
            fall_silent(one);
            return true;
        case outbox::then::nothing:
            break;
        }
        return one.server || !one.to_client.empty();
    }
    // Nobody is there for the replies: what is late is still to be delivered, and to be answered.
    one.to_client.clear();
    return one.server && (!one.to_server.empty() || (one.late && !one.replies.empty()));
}

// What is under way is lost.
void fault_proxy::fall_silent(session& one) {
    one.silent = true;
    one.to_client.clear();
    one.to_server.clear();
    const auto held =
        std::count_if(one.replies.begin(), one.replies.end(), [](const expected& each) { return each.held; });
    one.replies.clear();
    note([&] { held_ -= static_cast<std::size_t>(held); });
}

bool fault_proxy::serve_silence(session& one) {
    const bool client_there = receive_into(one.from_client, one.client);
    if (one.server && !receive_into(one.from_server, one.server)) {
        one.server.reset();
    }
    one.from_client.clear();
    one.from_server.clear();
    return client_there;
}

// False: there is nothing that could come late, so the server sees the end of the stream at once.
bool fault_proxy::client_left(session& one) {
    one.client.reset();
    if (one.late_by) {
        one.to_server.release_held(clock::now() + *one.late_by);
    }
    return one.server && !one.to_server.empty();
}

void fault_proxy::take_commands(session& one) {
    try {
        while (!one.deaf) {
            const auto command = resp::read_command(one.from_client);
            if (!command) {
                return;
            }
            auto raw = one.from_client.substr(0, command->length);
            one.from_client.erase(0, command->length);
            const auto what = fault_for(command->words);
            forward(one, std::move(raw), what);
            note([&] { traffic_.commands.push_back(command->words); });
        }
    } catch (const std::runtime_error&) {
        // Not RESP: the server may say what it thinks of it.
        one.to_server.push(std::move(one.from_client), clock::now());
    }
    one.from_client.clear();
}

std::optional<fault> fault_proxy::fault_for(const resp::argv& argv) {
    std::optional<fault> out;
    for (auto& each : rules_) {
        if (each.where.matches(argv)) {
            ++each.seen;
            if (!out && (each.where.number == 0 || each.where.number == each.seen)) {
                out = each.what;
            }
        }
    }
    return out;
}

void fault_proxy::forward(session& one, std::string raw, const std::optional<fault>& what) {
    const auto now = clock::now();
    if (!what) {
        one.to_server.push(std::move(raw), now);
        one.replies.push_back({});
        return;
    }
    switch (what->what) {
    case fault::kind::lose_request:
        one.replies.push_back({what, false});
        one.deaf = true;
        return;
    case fault::kind::cut_in_request:
        one.to_server.push(raw.substr(0, raw.size() / 2), now, outbox::then::cut);
        one.deaf = true;
        return;
    case fault::kind::delay_request:
        one.to_server.push(std::move(raw), now + what->time);
        one.late = true;
        one.replies.push_back({});
        return;
    case fault::kind::hold_request:
    case fault::kind::deliver_after_close: {
        const bool held = what->what == fault::kind::hold_request;
        one.to_server.push(std::move(raw), outbox::held());
        one.late = true;
        one.replies.push_back({{}, true, held});
        if (held) {
            note([&] { ++held_; });
        } else {
            one.late_by = what->time;
        }
        return;
    }
    default:
        one.to_server.push(std::move(raw), now);
        one.replies.push_back({what});
        return;
    }
}

void fault_proxy::take_replies(session& one) {
    std::size_t length = 0;
    try {
        while (const auto found = resp::reply_length(one.from_server)) {
            length = *found;
            settle(one);
            auto raw = one.from_server.substr(0, length);
            one.from_server.erase(0, length);
            const auto turn = one.replies.empty() ? expected{} : one.replies.front();
            if (!one.replies.empty()) {
                one.replies.pop_front();
            }
            deliver(one, std::move(raw), turn.what);
            note([&] {
                ++traffic_.replies;
                held_ -= turn.held ? 1U : 0U;
            });
        }
    } catch (const std::runtime_error&) {
        // Not RESP: the client may say what it thinks of it.
        one.to_client.push(std::exchange(one.from_server, {}), clock::now());
    }
}

// A lost request's turn has come: nothing more passes on this connection.
void fault_proxy::settle(session& one) {
    if (!one.replies.empty() && !one.replies.front().from_server) {
        one.to_client.push("", clock::now(), one.replies.front().what->after);
        one.replies.pop_front();
    }
}

void fault_proxy::deliver(session& one, std::string raw, const std::optional<fault>& what) {
    const auto now = clock::now();
    if (!what) {
        one.to_client.push(std::move(raw), now);
        return;
    }
    switch (what->what) {
    case fault::kind::lose_reply:
        one.to_client.push("", now, what->after);
        break;
    case fault::kind::delay_reply:
        one.to_client.push(std::move(raw), now + what->time);
        break;
    case fault::kind::replace_reply:
        one.to_client.push(what->bytes, now);
        break;
    case fault::kind::duplicate_reply:
        one.to_client.push(raw + raw, now);
        break;
    case fault::kind::truncate_reply:
        one.to_client.push(raw.substr(0, what->length), now, what->after);
        break;
    case fault::kind::drip_reply:
        one.to_client.push_drip(raw, what->time);
        break;
    case fault::kind::cut_after_reply:
        one.to_client.push(std::move(raw), now, outbox::then::cut);
        break;
    default: // the faults of requests
        one.to_client.push(std::move(raw), now);
        break;
    }
}

} // namespace distlock::test
