// SPDX-License-Identifier: MIT
#pragma once

#include "distlock/reply.hpp"
#include "keyspace.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// A simulated Redis: one plain object, no thread, no real time, no randomness. The same calls in the same
/// order give the same replies, whatever the machine does. The differential test holds it to a real
/// redis-server.
///
///     simulation::server redis;
///     simulation::session client{redis};
///     auto answer = redis.execute(client, argv);        // nothing: blocked, the answer is a later wakeup
///     redis.advance(5ms in us); redis.tick();           // the wall clock is the caller's
///     for (auto& [who, answer] : redis.take_wakeups())  // who was answered meanwhile
namespace distlock::simulation {

class server;
struct command;
struct compiled_script;
using arguments = std::span<const std::string_view>;

/// What a server knows beyond Redis 7.0, whose texts and rules all flavours share.
enum class flavour : std::uint8_t { redis_7_0, redis_8_4, valkey_8_1, valkey_9 };

/// One connection to a server, registered while it lives. Neither copied nor moved.
class session {
public:
    explicit session(server& to);
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    /// False once the server has closed it: killed, role changed, crashed. Nothing may be executed on it
    /// then.
    bool is_open() const { return open_; }
    bool is_blocked() const { return block_ != block::none; }
    std::uint64_t id() const { return id_; }

private:
    friend class server;
    friend struct client_commands;
    friend struct script_engine;
    enum class block : std::uint8_t { none, pop, wait, paused };

    server* server_; // nullptr once the server is gone
    std::uint64_t id_;
    bool open_ = true;
    bool authenticated_;
    bool close_after_reply_ = false;
    /// The replication offset after this session's last command: what WAIT waits for.
    std::uint64_t wrote_ = 0;
    block block_ = block::none;
    std::vector<std::string> keys_; // BLPOP: the keys waited on
    std::size_t wanted_ = 0;        // WAIT: this many acknowledgements
    std::uint64_t awaited_ = 0;     // WAIT: of this offset
    std::int64_t deadline_ = 0;     // server time in ms, 0: none
    /// Commands that came while it was blocked.
    std::deque<std::vector<std::string>> pending_;
};

/// A server refuses what these say, with Redis' texts.
struct troubles {
    bool loading = false;
    bool master_down = false;
    bool misconf = false;
    bool out_of_memory = false;
    bool too_few_replicas = false;
    /// Commands that no user may run: "evalsha", "client|kill", "client" for all of its subcommands.
    std::set<std::string, std::less<>> denied;
};

struct wakeup {
    session* who;
    reply answer;
};

class server {
public:
    struct options {
        flavour kind = flavour::redis_7_0;
        std::string password{}; // of the user "default"; empty: none is asked for
        std::int64_t start_us = 1'700'000'000'000'000;
    };
    server()
        : server(options{}) {}
    explicit server(options chosen);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    // Clients.
    /// The reply, or nothing when the session is now blocked (or was, and the command waits behind that).
    std::optional<reply> execute(session& from, arguments argv);
    /// Answers given to blocked sessions since the last call, in the order in which they were given.
    std::vector<wakeup> take_wakeups() { return std::exchange(wakeups_, {}); }

    // Time. The wall clock may be set to anything; nothing happens by itself until `tick`.
    std::int64_t now_us() const { return now_us_; }
    void set_clock(std::int64_t us);
    void advance(std::int64_t us) { set_clock(now_us_ + us); }
    /// What the server's timer does: ends blocked waits and pauses that are over, deletes some expired keys.
    void tick(std::size_t most_expired = 20);
    /// The earliest server time (ms) at which `tick` has a blocked session to answer.
    std::optional<std::int64_t> next_deadline_ms() const;

    // Faults.
    troubles trouble;
    /// Closes all sessions and forgets scripts, pauses and (unless kept) keys. Replicas have to follow anew.
    void crash(bool keeps_data);
    /// Deletes a key as maxmemory eviction does.
    bool evict(std::string_view key);
    void evict_scripts() { scripts_.clear(); }
    /// Closes one session as a broken connection does: what it waited for is dropped.
    void disconnect(session& from);

    // Replication. Writes are numbered; a replica takes them over when told to, a command's effects at once.
    std::uint64_t offset() const { return offset_; }
    bool is_replica() const { return role_ == role::replica; }
    /// Becomes a replica with a copy of the primary's present data. Blocked sessions are answered UNBLOCKED
    /// and closed.
    void follow(server& primary);
    /// Takes over the primary's writes up to an offset; false when the link is gone (crash, other role).
    bool pull(std::uint64_t up_to = std::numeric_limits<std::uint64_t>::max());
    /// At the primary: this replica's acknowledgement of an offset has arrived.
    void acknowledge(server& replica, std::uint64_t up_to);
    /// Becomes a primary with what it has.
    void promote();

    // For assertions: no lazy expiry, nothing counted.
    std::vector<std::string> live_keys() const { return keys_.keys(); }
    const entry* peek(std::string_view key) const { return keys_.peek(key); }
    /// How often a command was run, by clients and by scripts.
    std::uint64_t calls(std::string_view command) const;
    std::size_t blocked_sessions() const { return blocked_; }

    /// For the list commands: blocked sessions may be waiting for this.
    void pushed_to(std::string_view key);

private:
    friend class session;
    friend struct client_commands;
    friend struct script_engine;
    friend class script_runtime;
    enum class role : std::uint8_t { primary, replica };
    struct logged {
        std::uint64_t offset;
        effects changes;
    };
    struct known_script {
        const compiled_script* code;
        bool from_eval;
        std::uint64_t used;
    };
    struct script_hasher {
        using is_transparent = void;
        std::size_t operator()(std::string_view sha) const { return std::hash<std::string_view>{}(sha); }
    };

    reply run(session& from, arguments argv);
    /// A redis.call or redis.pcall: once a script has written, some refusals no longer stop it.
    reply run_in_script(session& from, arguments argv, bool& wrote);
    reply perform(const command& which, session& from, arguments argv);
    const char* refusal_by_state(const command& which, bool in_script) const;
    bool is_denied(std::string_view name) const;
    bool is_paused_for(const command& which) const;
    void finish(session& from);
    void commit();
    void serve(const std::string& key);
    void run_pending();
    void block(session& whom, session::block why, std::int64_t deadline_ms);
    void unblock(session& whom);
    void answer(session& whom, reply text) { wakeups_.push_back({&whom, std::move(text)}); }
    void close(session& which);
    void end_pause();
    void unlink_primary();
    void unlink_replicas();
    void become_replica();
    std::size_t acknowledged(std::uint64_t offset) const;

    options options_;
    std::int64_t now_us_;
    keyspace keys_;
    std::vector<std::uint64_t> calls_;

    std::map<std::uint64_t, session*> sessions_; // the open ones
    std::set<session*> attached_;                // all, never iterated for an effect
    std::uint64_t next_session_ = 1;
    std::size_t blocked_ = 0;
    std::unordered_map<std::string, std::deque<session*>> poppers_; // by key, in order of arrival
    std::vector<std::string> ready_;                                // pushed to, and somebody waits there
    std::deque<session*> paused_;                                   // by CLIENT PAUSE, in order of arrival
    std::deque<session*> resumed_;                                  // unblocked, their pending commands are due
    std::vector<wakeup> wakeups_;
    std::int64_t paused_until_ = 0;
    bool pause_spares_reads_ = false;

    std::unordered_map<std::string, known_script, script_hasher, std::equal_to<>> scripts_;
    std::uint64_t script_uses_ = 0;

    role role_ = role::primary;
    std::uint64_t offset_ = 0;
    std::deque<logged> log_;
    server* primary_ = nullptr;
    std::map<server*, std::uint64_t> replicas_; // with what they have acknowledged
};

} // namespace distlock::simulation
