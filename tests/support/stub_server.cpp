// SPDX-License-Identifier: MIT
#include "support/stub_server.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace distlock::test {

stub_answer stub_answer::dripping(std::string octets, std::chrono::milliseconds interval) {
    stub_answer made{std::move(octets)};
    made.drip = interval;
    return made;
}

stub_answer stub_answer::delayed(std::string octets, std::chrono::milliseconds by) {
    stub_answer made{std::move(octets)};
    made.delay = by;
    return made;
}

stub_answer stub_answer::last(std::string octets) {
    stub_answer made{std::move(octets)};
    made.after = outbox::then::cut;
    return made;
}

stub_answer stub_answer::silence() {
    stub_answer made{""};
    made.after = outbox::then::silence;
    return made;
}

stub_answer stub_answer::huge_string() {
    stub_answer made{"$314572800\r\n"};
    made.endless = std::string(65536, 'x');
    return made;
}

stub_answer stub_answer::huge_array() {
    stub_answer made{"*4294967295\r\n"};
    for (int i = 0; i < 4096; ++i) {
        made.endless += ":1\r\n";
    }
    return made;
}

stub_answer stub_answer::nested(std::size_t depth) {
    std::string octets;
    for (std::size_t i = 0; i < depth; ++i) {
        octets += "*1\r\n";
    }
    return octets + ":1\r\n";
}

stub_answer stub_answer::endless_line() {
    stub_answer made{":"};
    made.endless = std::string(65536, '1');
    return made;
}

stub_server::stub_server(handler answer, std::string greeting)
    : answer_{std::move(answer)}
    , greeting_{std::move(greeting)}
    , doors_{dir_.path() / "stub.sock"}
    , thread_{[this](auto& watched, auto& wake) { prepare(watched, wake); }, [this] { step(); }} {}

stub_server::~stub_server() = default;

std::vector<resp::argv> stub_server::commands() const {
    const std::lock_guard guard{mutex_};
    return commands_;
}

std::size_t stub_server::connections() const {
    const std::lock_guard guard{mutex_};
    return connections_;
}

bool stub_server::wait_for_commands(std::size_t count, std::chrono::milliseconds limit) const {
    std::unique_lock guard{mutex_};
    return changed_.wait_for(guard, limit, [&] { return commands_.size() >= count; });
}

void stub_server::prepare(std::vector<pollfd>& watched, poll_thread::clock::time_point& wake) {
    doors_.watch(watched);
    for (const auto& each : sessions_) {
        const bool due = each.output.is_due(poll_thread::clock::now());
        watched.push_back({each.client.get(), static_cast<short>(due ? POLLIN | POLLOUT : POLLIN), 0});
        if (!due) {
            wake = std::min(wake, each.output.next_due());
        }
    }
}

void stub_server::step() {
    while (auto client = doors_.next()) {
        auto& made = sessions_.emplace_back(session{std::move(client)});
        made.output.push(greeting_, poll_thread::clock::now());
        const std::lock_guard guard{mutex_};
        ++connections_;
    }
    sessions_.remove_if([this](session& each) { return !serve(each); });
}

// False: the session is over.
bool stub_server::serve(session& one) {
    const bool open = receive_into(one.input, one.client);
    if (one.silent) {
        one.input.clear();
        return open;
    }
    try {
        while (const auto command = resp::read_command(one.input)) {
            one.input.erase(0, command->length);
            const auto what = answer_(command->words);
            queue(one, what);
            const std::lock_guard guard{mutex_};
            commands_.push_back(command->words);
            changed_.notify_all();
        }
    } catch (const std::exception& complaint) {
        const std::string text = complaint.what();
        one.output.push("-ERR Protocol error: " + text + "\r\n", poll_thread::clock::now(), outbox::then::cut);
        one.input.clear();
    }
    switch (one.output.flush(one.client, poll_thread::clock::now())) {
    case outbox::then::cut:
        return false;
    case outbox::then::silence:
        one.silent = true;
        one.output.clear();
        break;
    case outbox::then::nothing:
        break;
    }
    return open;
}

void stub_server::queue(session& one, const stub_answer& what) {
    const auto due = poll_thread::clock::now() + what.delay;
    const bool goes_on = !what.endless.empty();
    const auto after = goes_on ? outbox::then::nothing : what.after;
    if (what.drip > what.drip.zero()) {
        one.output.push("", due);
        one.output.push_drip(what.bytes, what.drip, after);
    } else {
        one.output.push(what.bytes, due, after);
    }
    if (goes_on) {
        one.output.push(what.endless, due, what.after, true);
    }
}

hostile_server::hostile_server(std::vector<stub_answer> answers)
    : stub_server{[answers = std::move(answers), next = std::size_t{0}](const resp::argv& argv) mutable {
        if (argv.size() == 2 && argv[0] == "CLIENT" && argv[1] == "ID") {
            return stub_answer{"-ERR unknown command 'CLIENT'\r\n"};
        }
        const auto& answer = answers.at(next);
        next = std::min(next + 1, answers.size() - 1);
        return answer;
    }} {}

} // namespace distlock::test
