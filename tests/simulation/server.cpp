// SPDX-License-Identifier: MIT
#include "server.hpp"

#include "commands.hpp"

#include <algorithm>
#include <iterator>

namespace distlock::simulation {

session::session(server& to)
    : server_{&to}
    , id_{to.next_session_++}
    , authenticated_{to.options_.password.empty()} {
    to.sessions_.emplace(id_, this);
    to.attached_.insert(this);
}

session::~session() {
    if (server_ != nullptr) {
        server_->disconnect(*this);
        server_->attached_.erase(this);
    }
}

server::server(options chosen)
    : options_{std::move(chosen)}
    , now_us_{options_.start_us}
    , calls_(command_count()) {
    set_clock(now_us_);
}

server::~server() {
    unlink_primary();
    unlink_replicas();
    for (session* const each : attached_) {
        each->open_ = false;
        each->server_ = nullptr;
    }
}

// Commands.

const char* const master_down_text = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";

std::optional<reply> server::execute(session& from, arguments argv) {
    if (from.is_blocked()) {
        from.pending_.emplace_back(argv.begin(), argv.end());
        return std::nullopt;
    }
    std::optional<reply> answer = run(from, argv);
    finish(from);
    if (from.is_blocked()) {
        answer.reset();
    }
    if (from.close_after_reply_) {
        close(from);
    }
    run_pending();
    return answer;
}

reply server::run(session& from, arguments argv) {
    const command* const found = find_command(argv, options_.kind);
    if (found == nullptr) {
        const command* const container = find_command(argv.first(1), options_.kind);
        if (container != nullptr) {
            std::string upper{container->name};
            std::ranges::transform(upper, upper.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
            return reply::error(joined({"ERR unknown subcommand '", shown(argv[1], 128), "'. Try ", upper, " HELP."}));
        }
        std::string words;
        for (std::size_t i = 1; i < argv.size() && words.size() < 128; ++i) {
            words += joined({"'", shown(argv[i], 128 - words.size()), "' "});
        }
        std::string text =
            joined({"ERR unknown command '", shown(argv[0], 128), "', with args beginning with: ", words});
        std::ranges::replace_if(
            text, [](char c) { return c == '\r' || c == '\n'; }, ' ');
        return reply::error(std::move(text));
    }
    if (!found->fits(argv.size())) {
        return wrong_arity(found->name);
    }
    if (!from.authenticated_ && (found->flags & command::without_auth) == 0) {
        return reply::error("NOAUTH Authentication required.");
    }
    if (is_denied(found->name)) {
        return reply::error(joined({"NOPERM this user has no permissions to run the '", found->name, "' command"}));
    }
    if (const char* const refused = refusal_by_state(*found, false)) {
        return reply::error(refused);
    }
    if (is_paused_for(*found)) {
        from.pending_.emplace_front(argv.begin(), argv.end());
        block(from, session::block::paused, 0);
        paused_.push_back(&from);
        return {};
    }
    return perform(*found, from, argv);
}

reply server::run_in_script(session& from, arguments argv, bool& wrote) {
    const command* const found = find_command(argv, options_.kind);
    if (found == nullptr) {
        return reply::error("ERR Unknown Redis command called from script");
    }
    if (!found->fits(argv.size())) {
        return reply::error("ERR Wrong number of args calling Redis command from script");
    }
    if ((found->flags & command::not_in_scripts) != 0) {
        return reply::error("ERR This Redis command is not allowed from script");
    }
    if (is_denied(found->name)) {
        return reply::error("ERR The user executing the script can't run this command or subcommand");
    }
    if (!wrote) {
        if (const char* const refused = refusal_by_state(*found, true)) {
            return reply::error(refused);
        }
    }
    wrote = wrote || (found->flags & command::writes) != 0;
    return perform(*found, from, argv);
}

reply server::perform(const command& which, session& from, arguments argv) {
    ++calls_[which.index];
    call c{keys_, argv, options_.kind, *this, from};
    return which.run(c);
}

/// Why the server, as it is now, does not take this command. A script's first write is asked the same, in the
/// script's order of questions; it was let in already, so loading and the like are behind it.
const char* server::refusal_by_state(const command& which, bool in_script) const {
    const bool writes = (which.flags & command::writes) != 0;
    const bool no_memory = trouble.out_of_memory && (which.flags & command::needs_memory) != 0;
    const char* const oom = "OOM command not allowed when used memory > 'maxmemory'.";
    const char* const read_only = "READONLY You can't write against a read only replica.";
    if (no_memory && !in_script) {
        return oom;
    }
    if (in_script && writes && is_replica()) {
        return read_only;
    }
    if (trouble.misconf && !is_replica() && (writes || (!in_script && which.name == "ping"))) {
        return "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
               "disk. "
               "Commands that may modify the data set are disabled, because this instance is configured to "
               "report "
               "errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please "
               "check "
               "the Redis logs for details about the RDB error.";
    }
    if (trouble.too_few_replicas && !is_replica() && writes) {
        return "NOREPLICAS Not enough good replicas to write.";
    }
    if (!in_script && writes && is_replica()) {
        return read_only;
    }
    if (no_memory) {
        return oom;
    }
    if (trouble.master_down && (which.flags & command::while_stale) == 0) {
        return master_down_text;
    }
    if (trouble.loading && (which.flags & command::while_loading) == 0) {
        return "LOADING Redis is loading the dataset in memory";
    }
    return nullptr;
}

bool server::is_denied(std::string_view name) const {
    return !trouble.denied.empty() &&
           (trouble.denied.contains(name) || trouble.denied.contains(name.substr(0, name.find('|'))));
}

bool server::is_paused_for(const command& which) const {
    return paused_until_ != 0 && keys_.now <= paused_until_ &&
           (!pause_spares_reads_ || (which.flags & (command::writes | command::may_write)) != 0);
}

std::uint64_t server::calls(std::string_view name) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        sum += command_at(i).name == name ? calls_[i] : 0;
    }
    return sum;
}

// What follows a command.

void server::finish(session& from) {
    commit();
    from.wrote_ = offset_;
    for (; !ready_.empty(); ready_.erase(ready_.begin())) {
        serve(ready_.front());
    }
}

void server::commit() {
    if (keys_.dirty()) {
        ++offset_;
        effects changes = keys_.take_effects();
        if (keys_.records) {
            log_.push_back({offset_, std::move(changes)});
        }
    }
}

void server::pushed_to(std::string_view key) {
    if (poppers_.empty()) {
        return;
    }
    std::string name{key};
    if (poppers_.contains(name) && std::ranges::find(ready_, name) == ready_.end()) {
        ready_.push_back(std::move(name));
    }
}

void server::serve(const std::string& key) {
    for (auto at = poppers_.find(key); at != poppers_.end(); at = poppers_.find(key)) {
        bool wrong = false;
        list* const items = keys_.find_as<list>(key, wrong);
        if (items == nullptr) {
            return;
        }
        session& first = *at->second.front();
        reply popped = reply::array({reply::string(key), reply::string(std::move(items->front()))});
        items->pop_front();
        keys_.touch(key);
        keys_.drop_if_empty(key);
        commit();
        unblock(first);
        answer(first, std::move(popped));
    }
}

void server::run_pending() {
    while (!resumed_.empty()) {
        session& next = *resumed_.front();
        resumed_.pop_front();
        while (next.open_ && !next.is_blocked() && !next.pending_.empty()) {
            const auto words = std::move(next.pending_.front());
            next.pending_.pop_front();
            const std::vector<std::string_view> argv{words.begin(), words.end()};
            reply text = run(next, argv);
            finish(next);
            if (!next.is_blocked()) {
                answer(next, std::move(text));
            }
            if (next.close_after_reply_) {
                close(next);
            }
        }
    }
}

void server::block(session& whom, session::block why, std::int64_t deadline_ms) {
    whom.block_ = why;
    whom.deadline_ = deadline_ms;
    ++blocked_;
}

void server::unblock(session& whom) {
    for (const auto& key : whom.keys_) {
        const auto at = poppers_.find(key);
        std::erase(at->second, &whom);
        if (at->second.empty()) {
            poppers_.erase(at);
        }
    }
    whom.keys_.clear();
    std::erase(paused_, &whom);
    whom.block_ = session::block::none;
    --blocked_;
    resumed_.push_back(&whom);
}

/// The server's side of a connection's end; the answers it was given before stay to be taken.
void server::close(session& which) {
    if (!which.open_) {
        return;
    }
    if (which.is_blocked()) {
        unblock(which);
    }
    std::erase(resumed_, &which);
    which.pending_.clear();
    which.open_ = false;
    sessions_.erase(which.id_);
}

void server::disconnect(session& from) {
    close(from);
    std::erase_if(wakeups_, [&](const wakeup& each) { return each.who == &from; });
}

// Time.

void server::set_clock(std::int64_t us) {
    now_us_ = us;
    keys_.now = us / 1000;
}

void server::tick(std::size_t most_expired) {
    if (paused_until_ != 0 && keys_.now > paused_until_) {
        end_pause();
    }
    if (blocked_ > 0) {
        std::vector<session*> late;
        for (const auto& [id, each] : sessions_) {
            if (each->is_blocked() && each->deadline_ != 0 && each->deadline_ < keys_.now) {
                late.push_back(each);
            }
        }
        std::ranges::stable_sort(late, {}, &session::deadline_);
        for (session* const each : late) {
            const bool waits = each->block_ == session::block::wait;
            unblock(*each);
            answer(*each, waits ? count(acknowledged(each->awaited_)) : reply::nil());
        }
    }
    if (!is_replica() && paused_until_ == 0) {
        keys_.expire_some(most_expired);
        commit();
    }
    run_pending();
}

std::optional<std::int64_t> server::next_deadline_ms() const {
    std::optional<std::int64_t> next;
    const auto consider = [&](std::int64_t deadline) { next = std::min(next.value_or(deadline), deadline); };
    if (blocked_ > 0) {
        for (const auto& [id, each] : sessions_) {
            if (each->is_blocked() && each->deadline_ != 0) {
                consider(each->deadline_ + 1);
            }
        }
    }
    if (!paused_.empty()) {
        consider(paused_until_ + 1);
    }
    return next;
}

void server::end_pause() {
    paused_until_ = 0;
    while (!paused_.empty()) {
        unblock(*paused_.front());
    }
}

// Faults and replication.

void server::crash(bool keeps_data) {
    while (!sessions_.empty()) {
        disconnect(*sessions_.begin()->second);
    }
    wakeups_.clear();
    next_session_ = 1;
    scripts_.clear();
    paused_until_ = 0;
    unlink_primary();
    unlink_replicas();
    if (!keeps_data) {
        const std::int64_t now = keys_.now;
        const bool deletes = keys_.deletes_expired;
        keys_ = keyspace{};
        keys_.now = now;
        keys_.deletes_expired = deletes;
    }
    keys_.records = false;
}

bool server::evict(std::string_view key) {
    const bool was_there = keys_.erase(key);
    commit();
    return was_there;
}

void server::unlink_primary() {
    if (primary_ != nullptr) {
        primary_->replicas_.erase(this);
        primary_ = nullptr;
    }
}

void server::unlink_replicas() {
    for (auto& [replica, unused] : replicas_) {
        replica->primary_ = nullptr;
    }
    replicas_.clear();
    log_.clear();
}

void server::follow(server& primary) {
    unlink_primary();
    become_replica();
    const std::int64_t now = keys_.now;
    keys_ = primary.keys_;
    keys_.now = now;
    keys_.deletes_expired = false;
    keys_.records = false;
    offset_ = primary.offset_;
    primary_ = &primary;
    primary.replicas_.insert_or_assign(this, offset_);
    primary.keys_.records = true;
}

void server::become_replica() {
    unlink_replicas();
    if (role_ == role::replica) {
        return;
    }
    role_ = role::replica;
    const auto open = sessions_;
    for (const auto& [id, each] : open) {
        if (each->block_ == session::block::pop || each->block_ == session::block::wait) {
            answer(*each, reply::error("UNBLOCKED force unblock from blocking operation, instance state changed "
                                       "(master -> replica?)"));
            close(*each);
        }
    }
}

bool server::pull(std::uint64_t up_to) {
    if (primary_ == nullptr) {
        return false;
    }
    const auto& log = primary_->log_;
    auto at = std::ranges::upper_bound(log, offset_, {}, &logged::offset);
    for (; at != log.end() && at->offset <= up_to; ++at) {
        keys_.apply(at->changes);
        keys_.take_effects();
        offset_ = at->offset;
    }
    return true;
}

void server::acknowledge(server& replica, std::uint64_t up_to) {
    const auto at = replicas_.find(&replica);
    if (at == replicas_.end()) {
        return;
    }
    at->second = std::max(at->second, up_to);
    const auto least = std::ranges::min_element(replicas_, {}, [](const auto& each) { return each.second; })->second;
    while (!log_.empty() && log_.front().offset <= least) {
        log_.pop_front();
    }
    for (const auto& [id, each] : sessions_) {
        if (each->block_ == session::block::wait && acknowledged(each->awaited_) >= each->wanted_) {
            unblock(*each);
            answer(*each, count(acknowledged(each->awaited_)));
        }
    }
    run_pending();
}

std::size_t server::acknowledged(std::uint64_t offset) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(replicas_, [&](const auto& each) { return each.second >= offset; }));
}

void server::promote() {
    unlink_primary();
    role_ = role::primary;
    keys_.deletes_expired = true;
}

} // namespace distlock::simulation
