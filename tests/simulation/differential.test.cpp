// SPDX-License-Identifier: MIT
//
// Holds the simulated Redis to a real one: the same commands go to both, and every reply is compared.
//
//   DISTLOCK_SEED=n       starts the random commands at seed n (a failure prints its seed) and runs only that
//   one DISTLOCK_SEEDS=n      as many seeds (30) DISTLOCK_COMMANDS=n   as many commands a seed (1000)
#include "numbers.hpp"
#include "real_client.hpp"
#include "server.hpp"
#include "sha1.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace distlock::simulation {
namespace {

using words = std::vector<std::string>;

words split(const std::string& line) {
    std::istringstream in{line};
    words found;
    for (std::string word; in >> word;) {
        found.push_back(word);
    }
    return found;
}

void print(std::ostream& out, const reply& r) {
    switch (r.type()) {
    case reply::kind::nil:
        out << "nil";
        break;
    case reply::kind::integer:
        out << r.as_integer();
        break;
    case reply::kind::status:
        out << '+' << r.text();
        break;
    case reply::kind::error:
        out << '-' << r.text();
        break;
    case reply::kind::string:
        out << '"' << r.text() << '"';
        break;
    case reply::kind::array:
        out << '[';
        for (const reply& each : r.elements()) {
            print(out, each);
            out << ' ';
        }
        out << ']';
    }
}

/// Both servers read a clock of their own a moment apart: numbers that are a time by their size (a wall clock
/// in s, ms or us, a long ttl in s or ms) may differ by seconds.
bool close_in_time(double left, double right) {
    const double size = std::min(std::abs(left), std::abs(right));
    const double allowed = size > 1e15 ? 10e6 : size > 1e12 ? 10e3 : size > 1e9 ? 10 : size > 20'000 ? 10e3 : 0;
    return std::abs(left - right) <= allowed;
}

/// What TIME answers, in us.
bool is_instant(const reply& r, double& us) {
    std::int64_t seconds = 0;
    std::int64_t rest = 0;
    const auto& parts = r.elements();
    if (parts.size() != 2 || !parse_integer(parts[0].text(), seconds) || !parse_integer(parts[1].text(), rest) ||
        seconds < 1'000'000'000 || rest < 0 || rest >= 1'000'000) {
        return false;
    }
    us = static_cast<double>(seconds) * 1e6 + static_cast<double>(rest);
    return true;
}

bool same(const reply& left, const reply& right) {
    if (left == right) {
        return true;
    }
    if (left.type() != right.type()) {
        return false;
    }
    if (left.is_array()) {
        double a = 0;
        double b = 0;
        return (is_instant(left, a) && is_instant(right, b) && close_in_time(a, b)) ||
               std::ranges::equal(left.elements(), right.elements(), same);
    }
    std::int64_t a = left.as_integer();
    std::int64_t b = right.as_integer();
    const bool numbers =
        left.is_integer() || (left.is_string() && parse_integer(left.text(), a) && parse_integer(right.text(), b));
    return numbers && close_in_time(static_cast<double>(a), static_cast<double>(b));
}

/// One server of each kind, with the same clients at both.
class both_servers {
public:
    explicit both_servers(std::size_t clients = 4)
        : control_{socket()} {
        reset(clients);
    }

    void reset(std::size_t clients) {
        clients_.clear();
        control_.execute({"FLUSHALL"});
        control_.execute({"SCRIPT", "FLUSH"});
        wait_for_blocked(0);
        simulated_ = std::make_unique<server>();
        for (std::size_t i = 0; i < clients; ++i) {
            clients_.push_back(std::make_unique<client>(socket(), *simulated_));
        }
    }

    /// Sends the command as that client, and compares the replies of all whom it has answered.
    testing::AssertionResult step(std::size_t who, const words& argv) {
        client& c = *clients_[who];
        const std::vector<std::string_view> views{argv.begin(), argv.end()};
        note(who, argv);
        c.real.send(views);
        read_clock();
        const auto expected = simulated_->execute(c.simulated, views);
        if (!expected) {
            if (!wait_for_blocked(simulated_->blocked_sessions())) {
                return failure("the real server has not blocked the client, or others with it");
            }
        } else if (auto result = compare(*expected, c.real); !result) {
            return result;
        }
        return compare_wakeups();
    }
    testing::AssertionResult step(std::size_t who, const std::string& line) { return step(who, split(line)); }

    testing::AssertionResult compare_wakeups() {
        for (const wakeup& woken : simulated_->take_wakeups()) {
            const auto at = std::ranges::find_if(clients_, [&](const auto& c) { return &c->simulated == woken.who; });
            if (auto result = compare(woken.answer, (*at)->real); !result) {
                return result << " (an answer to client " << at - clients_.begin() << ", which was blocked)";
            }
        }
        return testing::AssertionSuccess();
    }

    /// Waits until the real server has let the key expire; and the simulated one too.
    testing::AssertionResult wait_until_gone(const std::string& key) {
        const auto gone = [&] { return control_.execute({"PTTL", key}).is_integer(-2); };
        const auto gone_here = [&] {
            read_clock();
            return simulated_->peek(key) == nullptr;
        };
        if (!wait_for(gone) || !wait_for(gone_here)) {
            return failure("the key did not expire");
        }
        return step(0, words{"EXISTS", key});
    }

    /// A blocked client's time-out, at both.
    testing::AssertionResult wait_for_time_out() {
        const std::size_t now_blocked = simulated_->blocked_sessions();
        if (!wait_for_blocked(now_blocked - 1)) {
            return failure("no time-out at the real server");
        }
        const auto over = [&] {
            read_clock();
            simulated_->tick(0);
            return simulated_->blocked_sessions() == now_blocked - 1;
        };
        return wait_for(over) ? compare_wakeups() : failure("not one time-out at the simulated server");
    }

    /// The client's connection breaks and it connects afresh.
    testing::AssertionResult reconnect(std::size_t who) {
        note(who, {"reconnects"});
        clients_[who] = nullptr;
        const bool dropped = wait_for_blocked(simulated_->blocked_sessions());
        clients_[who] = std::make_unique<client>(socket(), *simulated_);
        return dropped ? testing::AssertionSuccess() : failure("blocked clients differ after a connection broke");
    }

    testing::AssertionResult kill(std::size_t who, std::size_t whom) {
        const reply id = clients_[whom]->real_id;
        note(who, {"kills", std::to_string(whom)});
        const std::string real_id = std::to_string(id.as_integer());
        const std::string simulated_id = std::to_string(clients_[whom]->simulated.id());
        const std::vector<std::string_view> real_argv{"CLIENT", "KILL", "ID", real_id};
        clients_[who]->real.send(real_argv);
        const std::vector<std::string_view> argv{"CLIENT", "KILL", "ID", simulated_id};
        if (auto result = compare(*simulated_->execute(clients_[who]->simulated, argv), clients_[who]->real); !result) {
            return result;
        }
        if (clients_[whom]->simulated.is_open()) {
            return failure("the simulated connection is still open");
        }
        return reconnect(whom);
    }

    bool is_blocked(std::size_t who) const { return clients_[who]->simulated.is_blocked(); }
    std::size_t clients() const { return clients_.size(); }
    server& simulated() { return *simulated_; }
    real_client& control() { return control_; }
    std::string socket() const { return real_.socket_path().string(); }
    std::filesystem::path directory() const { return real_.dir(); }
    session& simulated_client(std::size_t who) { return clients_[who]->simulated; }
    real_client& real_client_at(std::size_t who) { return clients_[who]->real; }

    bool wait_for_blocked(std::size_t number) {
        std::string line{"blocked_clients:"};
        line += std::to_string(number) + "\r\n";
        return wait_for([&] { return control_.execute({"INFO", "clients"}).text().find(line) != std::string::npos; });
    }

    static bool wait_for(const std::function<bool()>& condition) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
        while (!condition()) {
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
        }
        return true;
    }

    testing::AssertionResult failure(const std::string& what) {
        auto result = testing::AssertionFailure();
        for (const auto& line : trace_) {
            result << "\n  " << line;
        }
        return result << "\n  " << what;
    }

private:
    struct client {
        client(const std::string& path, server& at)
            : real{path}
            , real_id{real.execute({"CLIENT", "ID"})}
            , simulated{at} {}
        real_client real;
        reply real_id;
        session simulated;
    };

    testing::AssertionResult compare(const reply& simulated, real_client& from) {
        try {
            const reply real = from.receive();
            return same(simulated, real) ? testing::AssertionSuccess() : failure(difference(simulated, real));
        } catch (const std::runtime_error& trouble) {
            return failure(difference(simulated, reply::error(trouble.what())));
        }
    }

    static std::string difference(const reply& simulated, const reply& real) {
        std::ostringstream out;
        out << "simulated: ";
        print(out, simulated);
        out << "\n       real: ";
        print(out, real);
        return out.str();
    }

    void note(std::size_t who, const words& argv) {
        std::ostringstream out;
        out << who << ':';
        for (const auto& word : argv) {
            out << " '" << word << '\'';
        }
        trace_.push_back(out.str());
        if (trace_.size() > 12) {
            trace_.pop_front();
        }
    }

    /// The host's wall clock, never standing still between two commands.
    void read_clock() {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        const std::int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
        simulated_->set_clock(std::max(us, simulated_->now_us() + 1));
    }

    test::redis_server real_{{.args = {"--databases", "1", "--hz", "100", "--enable-protected-configs", "yes"}}};
    real_client control_;
    std::unique_ptr<server> simulated_; // outlives the clients
    std::vector<std::unique_ptr<client>> clients_;
    std::deque<std::string> trace_;
};

struct script {
    const char* text;
    const char* arguments; // numkeys, then a template as below
};

constexpr script scripts[] = {
    {"if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end", "1 K T"},
    {"local v = redis.call('get',KEYS[1]) if v == ARGV[1] then redis.call('del',KEYS[1]) return 1 end "
     "if v then return -1 end return 0",
     "1 K T"},
    {"if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return "
     "0 end",
     "1 K T L"},
    {"local old = redis.call('set',KEYS[1],ARGV[1],'NX','GET','PX',ARGV[2])\n"
     "if old then return {old, redis.call('pttl',KEYS[1])} end\n"
     "local t = redis.call('TIME') local f = t[1]*1000000 + t[2]\n"
     "local previous = tonumber(redis.call('get',KEYS[2]) or '0')\n"
     "if f <= previous then f = previous + 1 end\n"
     "redis.call('set',KEYS[2],f,'PX',3600000) return f",
     "2 K fence T L"},
    {"local t = redis.call('time') local now = t[1]*1000000+t[2]\n"
     "redis.call('zremrangebyscore',KEYS[1],'-inf',now)\n"
     "if redis.call('zscore',KEYS[1],ARGV[1]) or redis.call('zcard',KEYS[1]) < tonumber(ARGV[2]) then\n"
     "  redis.call('zadd',KEYS[1],now+ARGV[3]*1000,ARGV[1])\n"
     "  if redis.call('pttl',KEYS[1]) < tonumber(ARGV[3]) then redis.call('pexpire',KEYS[1],ARGV[3]) end\n"
     "  return 1\n"
     "end return {false, redis.call('zrange',KEYS[1],0,0,'withscores')}",
     "1 Z T 2 L"},
    {"local n = redis.call('zrem',KEYS[1],ARGV[1]) if redis.call('zcard',KEYS[1]) > 0 then "
     "redis.call('lpush',KEYS[2],ARGV[1]) redis.call('pexpire',KEYS[2],ARGV[2]) end return n",
     "2 Z Q T L"},
    {"if redis.call('exists',KEYS[1]) == 0 or redis.call('hexists',KEYS[1],ARGV[1]) == 1 then "
     "redis.call('hincrby',KEYS[1],ARGV[1],1) redis.call('pexpire',KEYS[1],ARGV[2]) return nil end "
     "return redis.call('pttl',KEYS[1])",
     "1 K T L"},
    {"redis.call('rpush',KEYS[1],ARGV[1]) redis.call('del',KEYS[1]) redis.call('rpush',KEYS[1],ARGV[1],'x') "
     "return redis.call('llen',KEYS[1])",
     "1 Q T"},
    {"redis.call('rpush',KEYS[1],ARGV[1]) redis.call('rpush',KEYS[2],ARGV[1]) return "
     "redis.call('lpop',KEYS[1])",
     "2 Q Q T"},
    {"local r = redis.pcall('incr',KEYS[1]) if type(r) == 'table' then return {r.err, 1.9, 'x', true, "
     "{1,false,3}} "
     "end return r",
     "1 K"},
    {"redis.call('set',KEYS[1],ARGV[1]) return redis.call('lpush',KEYS[1],'y')", "1 K V"},
    {"return {KEYS, ARGV, #KEYS, ARGV[2]}", "2 K K V V I"},
    {"return redis.call(unpack(ARGV))", "0 get K"},
    {"return redis.call(unpack(ARGV))", "0 zrange Z 0 -1 withscores"},
    {"return redis.call(unpack(ARGV))", "0 hgetall K"},
    {"return redis.call(unpack(ARGV))", "0 set K V PX L"},
    {"return redis.pcall(unpack(ARGV))", "0 blpop Q 0"},
    {"local t = {} for i, k in ipairs(KEYS) do t[i] = redis.call('type',k).ok end return t", "3 K K Z"},
    {"return tostring(redis.call('get',KEYS[1])) .. math.floor(3.7) .. string.rep('ab', 2)", "1 K"},
    {"return redis.call('get',KEYS[1]) + 1", "1 K"},
};

/// Commands as templates. Single capitals are drawn anew each time:
/// K any key, Q a key of few (lists), Z a key of few (zsets), V a value, T one of few tokens, I an integer or
/// not, X a small index, F a score or not, R an end of a range of scores, M a member, L a long ttl in ms, S
/// in s.
constexpr const char* templates[] = {
    "GET K",
    "GET K",
    "SET K V",
    "SET K T NX PX L",
    "SET K T NX PX L",
    "SET K T NX GET PX L",
    "SET K V XX",
    "SET K V XX GET",
    "SET K V GET",
    "SET K V KEEPTTL",
    "SET K V EX S",
    "SET K V PX 0",
    "SET K V PX x",
    "SET K V NX XX",
    "SET K V EX S KEEPTTL",
    "SETNX K T",
    "SETEX K S V",
    "PSETEX K L V",
    "GETSET K V",
    "GETDEL K",
    "APPEND K V",
    "STRLEN K",
    "DEL K",
    "DEL K",
    "DEL K K Q",
    "UNLINK K",
    "EXISTS K",
    "EXISTS K K Q",
    "TYPE K",
    "PTTL K",
    "TTL K",
    "PEXPIRETIME K",
    "EXPIRETIME K",
    "PEXPIRE K L",
    "PEXPIRE K L",
    "PEXPIRE K 0",
    "PEXPIRE K -1",
    "PEXPIRE K x",
    "EXPIRE K S",
    "EXPIRE K L GT",
    "PEXPIRE K L GT",
    "PEXPIRE K L LT",
    "PEXPIRE K L NX",
    "PEXPIRE K L XX",
    "PEXPIRE K L NX XX",
    "PERSIST K",
    "PEXPIREAT K 4102444800000",
    "EXPIREAT K 4102444801",
    "PEXPIREAT K 1000",
    "INCR K",
    "DECR K",
    "INCRBY K I",
    "DECRBY K I",
    "TIME",
    "PING",
    "PING V",
    "ECHO V",
    "DBSIZE",
    "LPUSH Q V",
    "RPUSH Q V",
    "RPUSH Q V V V",
    "RPUSH K V",
    "LPOP Q",
    "RPOP Q",
    "LPOP K",
    "LPOP Q X",
    "RPOP Q X",
    "LLEN Q",
    "LLEN K",
    "LRANGE Q X X",
    "LRANGE Q 0 -1",
    "LREM Q X V",
    "LREM Q 0 T",
    "LINDEX Q X",
    "LINDEX K X",
    "LTRIM Q X X",
    "ZADD Z F M",
    "ZADD Z F M F M",
    "ZADD Z NX F M",
    "ZADD Z XX F M",
    "ZADD Z GT F M",
    "ZADD Z LT CH F M F M",
    "ZADD Z INCR F M",
    "ZADD Z NX GT F M",
    "ZADD K F M",
    "ZINCRBY Z F M",
    "ZREM Z M",
    "ZREM Z M M",
    "ZCARD Z",
    "ZCARD K",
    "ZSCORE Z M",
    "ZRANK Z M",
    "ZCOUNT Z R R",
    "ZRANGE Z X X",
    "ZRANGE Z X X WITHSCORES",
    "ZRANGE Z R R BYSCORE",
    "ZRANGE Z R R BYSCORE LIMIT X X WITHSCORES",
    "ZRANGE Z R R BYSCORE REV",
    "ZRANGE Z X X REV",
    "ZRANGE Z 0 -1 LIMIT 0 1",
    "ZREVRANGE Z X X WITHSCORES",
    "ZRANGEBYSCORE Z R R",
    "ZRANGEBYSCORE Z R R WITHSCORES LIMIT X X",
    "ZREVRANGEBYSCORE Z R R",
    "ZREMRANGEBYSCORE Z R R",
    "ZREMRANGEBYRANK Z X X",
    "ZPOPMIN Z",
    "ZPOPMIN Z X",
    "ZPOPMAX Z",
    "ZPOPMIN K",
    "HSET K M V",
    "HSET K M V M V",
    "HSETNX K M V",
    "HGET K M",
    "HEXISTS K M",
    "HDEL K M",
    "HDEL K M M",
    "HLEN K",
    "HGETALL K",
    "HINCRBY K M I",
    "WAIT 0 0",
    "SELECT 0",
    "SELECT I",
    "SCRIPT EXISTS V",
    "NOSUCH K V",
    "SCRIPT NOSUCH",
    "CLIENT NOSUCH V",
};

class random_commands {
public:
    explicit random_commands(unsigned seed)
        : random_{seed} {}

    std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>{0, end - 1}(random_); }
    bool one_in(std::size_t n) { return below(n) == 0; }

    std::string key() { return numbered('k', 5); }
    std::string queue() { return one_in(20) ? key() : numbered('q', 2); }

    words command() {
        if (one_in(4)) {
            return script_command();
        }
        words argv = split(templates[below(std::size(templates))]);
        fill(argv, 1);
        if (one_in(8)) {
            std::ranges::transform(argv[0], argv[0].begin(),
                                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        }
        if (one_in(40) && argv.size() > 1) {
            argv.pop_back();
        } else if (one_in(40)) {
            argv.push_back(value());
        }
        return argv;
    }

private:
    words script_command() {
        if (one_in(60)) {
            return {"SCRIPT", "FLUSH"};
        }
        const script& chosen = scripts[below(std::size(scripts))];
        if (one_in(20)) {
            return {"SCRIPT", "LOAD", chosen.text};
        }
        words argv = split(chosen.arguments);
        fill(argv, 0);
        if (one_in(3)) {
            argv.insert(argv.begin(), {"EVAL", chosen.text});
        } else {
            argv.insert(argv.begin(), {"EVALSHA", sha1(chosen.text)});
        }
        return argv;
    }

    void fill(words& argv, std::size_t first) {
        for (std::size_t i = first; i < argv.size(); ++i) {
            if (argv[i].size() == 1 && std::isupper(static_cast<unsigned char>(argv[i][0])) != 0) {
                argv[i] = drawn(argv[i][0]);
            }
        }
    }

    std::string drawn(char kind) {
        switch (kind) {
        case 'K':
            return key();
        case 'Q':
            return queue();
        case 'Z':
            return one_in(20) ? key() : numbered('z', 2);
        case 'T':
            return one_of({"token0", "token1", "token2"});
        case 'I':
            return one_of({"1", "-1", "2", "0", "7", "1.5", "x", "", "9223372036854775807", "-9223372036854775808",
                           "9223372036854775808", " 1", "01", "-0"});
        case 'X':
            return one_of({"0", "1", "2", "-1", "-2", "5", "-5", "100", "-100", "x"});
        case 'F':
            return one_of({"0", "1", "2", "3", "1.5", "-1", "0.1", "1e3", "inf", "-inf", "100000", "x", "nan"});
        case 'R':
            return one_of({"-inf", "+inf", "inf", "0", "(0", "1", "(1", "2", "(3", "1.5", "100", "x"});
        case 'M':
            return std::string{static_cast<char>('a' + below(6))};
        case 'L':
            return std::to_string(100'000 + below(100'000'000));
        case 'S':
            return std::to_string(1'000 + below(100'000));
        default:
            return value();
        }
    }

    std::string value() {
        return one_in(20)
                   ? std::string("nul\0in", 6)
                   : one_of({"token0", "token1", "10", "-3", "", "x", "two words", "9223372036854775807", "a\r\nb"});
    }

    std::string numbered(char letter, std::size_t most) { return {letter, static_cast<char>('0' + below(most))}; }

    std::string one_of(std::initializer_list<const char*> choices) { return choices.begin()[below(choices.size())]; }

    std::mt19937 random_;
};

std::size_t setting(const char* name, std::size_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
}

/// One random step. Pops that block, connections that break and keys that expire come in between.
testing::AssertionResult random_step(both_servers& both, random_commands& random) {
    std::size_t who = random.below(both.clients());
    if (both.is_blocked(who) && random.one_in(8)) {
        return random.one_in(2) ? both.reconnect(who) : both.kill(0, who);
    }
    while (both.is_blocked(who)) {
        who = (who + 1) % both.clients();
    }
    const bool may_block = who != 0; // the first client is always there to go on
    if (may_block && random.one_in(12)) {
        auto done = random.one_in(3) ? both.step(who, words{"BLPOP", random.queue(), random.queue(), "0"})
                                     : both.step(who, words{"BLPOP", random.queue(), "0"});
        if (done && both.is_blocked(who) && random.one_in(3)) {
            return both.step(who, random.command()); // waits behind it
        }
        return done;
    }
    if (random.one_in(1000) && may_block) {
        auto done = both.step(who, words{"BLPOP", random.queue(), "0.01"});
        return done && both.is_blocked(who) ? both.wait_for_time_out() : done;
    }
    if (random.one_in(50)) {
        const std::string key = random.one_in(3) ? random.queue() : random.key();
        auto done = random.one_in(2) ? both.step(who, words{"SET", key, "brief", "PX", "1"})
                                     : both.step(who, words{"PEXPIRE", key, "2"});
        return done ? both.wait_until_gone(key) : done;
    }
    if (random.one_in(200)) {
        return both.step(who, words{"FLUSHALL"});
    }
    return both.step(who, random.command());
}

TEST(Differential, RandomCommands) {
    both_servers both;
    const bool replays = std::getenv("DISTLOCK_SEED") != nullptr;
    const std::size_t first = setting("DISTLOCK_SEED", 1);
    const std::size_t seeds = replays ? 1 : setting("DISTLOCK_SEEDS", 30);
    const std::size_t commands = setting("DISTLOCK_COMMANDS", 1000);
    for (std::size_t seed = first; seed < first + seeds; ++seed) {
        both.reset(5);
        random_commands random{static_cast<unsigned>(seed)};
        for (std::size_t i = 0; i < commands; ++i) {
            ASSERT_TRUE(random_step(both, random)) << "DISTLOCK_SEED=" << seed << ", command " << i;
        }
    }
}

/// Texts of errors, corners of conversions: each line by itself, on a few keys of every type.
TEST(Differential, Corners) {
    both_servers both;
    for (const char* const line :
         {"SET s abc", "SET n 41", "RPUSH l a b c", "ZADD z 0.1 a 3 b inf c", "HSET h f 1 g x", "SET t x PX 1000000"}) {
        ASSERT_TRUE(both.step(0, line));
    }
    for (const char* const line : {"foo a b",
                                   "get",
                                   "script foo",
                                   "script load",
                                   "script",
                                   "client",
                                   "client foo",
                                   "client kill id 7777",
                                   "client kill id x",
                                   "client kill id 0",
                                   "client kill id",
                                   "client kill 1.2.3.4:5",
                                   "client pause x",
                                   "client pause 10 foo",
                                   "client unpause x",
                                   "select 1",
                                   "select x",
                                   "auth a b",
                                   "auth x",
                                   "auth default x",
                                   "auth",
                                   "auth a b c",
                                   "set k v px 0",
                                   "set k v px -5",
                                   "set k v px x",
                                   "set k v px",
                                   "set k v ex 9223372036854775807",
                                   "set k v px 9223372036854775807",
                                   "set k v pxat 1",
                                   "get k",
                                   "exists k",
                                   "set k v nx xx",
                                   "set k v foo",
                                   "set k v px 10 ex 10",
                                   "set k v keepttl px 5",
                                   "set k v ifeq x",
                                   "set l v get",
                                   "set l v nx get",
                                   "get l",
                                   "blpop l x",
                                   "blpop l -1",
                                   "blpop s 0",
                                   "blpop nolist s 0",
                                   "blpop nolist l 0",
                                   "blpop l 1e30",
                                   "blpop l nan",
                                   "zadd z x a",
                                   "zadd z nx xx 1 a",
                                   "zadd z gt lt 1 a",
                                   "zadd z nx gt 1 a",
                                   "zadd z 1",
                                   "zadd z nx 1",
                                   "zadd z nx ch",
                                   "zadd z incr 1 a 2 b",
                                   "zadd z nan a",
                                   "zadd z incr -inf c",
                                   "zadd z xx incr 1 q",
                                   "zadd q xx 1 a",
                                   "zadd z 1e400 a",
                                   "zadd z 0x10 hex",
                                   "zscore z hex",
                                   "zrange z 0 -1 withscores",
                                   "zrangebyscore z x 1",
                                   "zrangebyscore z ( 1",
                                   "zrange z (1 +inf byscore limit 0 1 withscores",
                                   "zrange z 0 1 limit 0 1",
                                   "zrange z 0 x",
                                   "zrange z 0 1 foo",
                                   "zpopmin z -1",
                                   "zpopmin z 1 1",
                                   "zpopmin z 0",
                                   "zpopmin q 0",
                                   "zpopmin q",
                                   "zrank z b x",
                                   "zrank z q",
                                   "zcount z ( 1",
                                   "zremrangebyscore z a b",
                                   "expire k x",
                                   "expire s 9223372036854775807",
                                   "pexpire s 9223372036854775807",
                                   "expire s -9223372036854775808",
                                   "expire s 10 nx gt",
                                   "expire s 10 gt lt",
                                   "expire s 10 foo",
                                   "pexpire t -1",
                                   "exists t",
                                   "hset h a",
                                   "hset h a 1 b",
                                   "hincrby h f x",
                                   "hincrby h g 1",
                                   "hincrby h f 9223372036854775807",
                                   "hget s f",
                                   "incr l",
                                   "incr s",
                                   "incrby n x",
                                   "incrby n 9223372036854775807",
                                   "decrby n -9223372036854775808",
                                   "decr n",
                                   "lpop l -1",
                                   "lpop l x",
                                   "lpop l 0",
                                   "lpop nol 0",
                                   "lpop nol 1",
                                   "lpop nol",
                                   "lpop l 1 1",
                                   "lrange l x 1",
                                   "lindex l x",
                                   "lindex nol x",
                                   "lrem l x a",
                                   "wait x 0",
                                   "wait 0 -1",
                                   "wait 0 x",
                                   "wait -1 0",
                                   "wait 0 0",
                                   "evalsha abc 0",
                                   "evalsha abc x",
                                   "evalsha ffffffffffffffffffffffffffffffffffffffff 0",
                                   "evalsha ffffffffffffffffffffffffffffffffffffffff x",
                                   "eval return x",
                                   "eval return 5",
                                   "eval return -1",
                                   "script exists abc",
                                   "script exists",
                                   "script flush foo",
                                   "script flush sync",
                                   "script flush sync x",
                                   "ping a b",
                                   "time x",
                                   "getset s q",
                                   "getset l q",
                                   "type s",
                                   "type h",
                                   "type z",
                                   "type l",
                                   "type nokey",
                                   "flushall foo",
                                   "flushall sync x",
                                   "role x",
                                   "delifeq s x",
                                   "delex s",
                                   "echo",
                                   "dbsize x",
                                   "ttl s",
                                   "pttl nokey",
                                   "setex s 0 v",
                                   "psetex s x v",
                                   "append l x",
                                   "strlen l",
                                   "persist nokey",
                                   "expiretime nokey"}) {
        EXPECT_TRUE(both.step(0, line)) << line;
    }
}

TEST(Differential, ScriptCorners) {
    both_servers both;
    for (const char* const line : {"SET s abc", "RPUSH l a b c", "ZADD z 0.1 a"}) {
        ASSERT_TRUE(both.step(0, line));
    }
    for (const char* const text : {"return redis.call('get','l')",
                                   "return redis.pcall('get','l')",
                                   "return redis.call('foo')",
                                   "return redis.call('get')",
                                   "return redis.pcall('get')",
                                   "return redis.call()",
                                   "return redis.pcall()",
                                   "return redis.call('get', {})",
                                   "return redis.call('get', nil)",
                                   "return redis.call('eval','return 1',0)",
                                   "return redis.call('blpop','l',0)",
                                   "return redis.call('wait',1,0)",
                                   "return redis.call('role')",
                                   "return redis.call('client','id')",
                                   "return redis.call('script','foo')",
                                   "return redis.call('client')",
                                   "return redis.call('script','flush')",
                                   "return redis.call('auth','x')",
                                   "return x",
                                   "x=1",
                                   "tostring=1",
                                   "redis.x=1",
                                   "string.foo=1",
                                   "return string.foo",
                                   "return redis.nothing",
                                   "error('boo')",
                                   "error({err='MY boo'})",
                                   "error({err='a\nb'})",
                                   "error()",
                                   "error(12)",
                                   "return {err='boo'}",
                                   "return {err='a\nb'}",
                                   "return {ok='boo'}",
                                   "return {err={}}",
                                   "return {ok=1}",
                                   "return {ok='x',err='y'}",
                                   "return redis.error_reply('boo')",
                                   "return redis.error_reply('MY boo')",
                                   "return redis.error_reply('-MY boo')",
                                   "return redis.error_reply('-boo')",
                                   "return redis.error_reply()",
                                   "return redis.error_reply(1)",
                                   "return redis.status_reply('fine')",
                                   "return redis.status_reply('a\nb')",
                                   "return redis.status_reply(1)",
                                   "return redis.sha1hex('')",
                                   "return redis.sha1hex('abc')",
                                   "return redis.sha1hex(12)",
                                   "return redis.sha1hex()",
                                   "return 1 +",
                                   "return 'open",
                                   "for",
                                   "return {1,2,nil,3}",
                                   "return {1.9,-1.9,1e30,-1e30,'x',true,false,{1}}",
                                   "return 0/0",
                                   "return 1/0",
                                   "return -1/0",
                                   "return nil",
                                   "return true",
                                   "return false",
                                   "return {}",
                                   "return {{},{{}}}",
                                   "return 1,2",
                                   "return",
                                   "",
                                   "return {[1]=1,[3]=3}",
                                   "return {KEYS[1], ARGV[1], #KEYS, #ARGV}",
                                   "KEYS[1]='x' return KEYS[1]",
                                   "return 1 + nil",
                                   "local a = nil return a.b",
                                   "local a = {} return a.b.c",
                                   "return 'a' .. {}",
                                   "return #5",
                                   "return nil < 1",
                                   "nosuch()",
                                   "local f = nil f()",
                                   "local function f() return f2() end f()",
                                   "\n\nerror('third')",
                                   "\nreturn redis.call('get','l')",
                                   "return redis.call('set','s','1','px','5','bla')",
                                   "redis.call('set','s','1') error('after')",
                                   "return redis.call('get','s')",
                                   "return redis.call('set','n',1733026000123456)",
                                   "return redis.call('get','n')",
                                   "return redis.call('set','n',0.1)",
                                   "return redis.call('get','n')",
                                   "return redis.call('set','n',1e20)",
                                   "return redis.call('get','n')",
                                   "return redis.call('set','n',-0.5)",
                                   "return redis.call('get','n')",
                                   "return redis.call('incrby','s',1.5)",
                                   "return redis.call('PING').ok",
                                   "return redis.call('GeT','s')",
                                   "return redis.call('lpop','nolist',1)",
                                   "return redis.call('hgetall','nohash')",
                                   "return tostring(redis.call('get','nokey'))",
                                   "return redis.call('zscore','z','a')",
                                   "return redis.call('zrange','z',0,-1,'withscores')",
                                   "return {pcall(redis.call,'foo')}",
                                   "return {pcall(function() error({err='x y'}) end)}",
                                   "return {pcall(function() error('z') end)}",
                                   "return {pcall(function(a) return a, 2 end, 1)}",
                                   "return {pcall(redis.call,'get','l')}",
                                   "return {select('#',pcall(error))}",
                                   "return redis.replicate_commands()",
                                   "return redis.log(redis.LOG_WARNING, 'x')",
                                   "return redis.LOG_NOTICE",
                                   "return string.format('%d %s %.17g', 3, 'x', 0.1)",
                                   "return tonumber('0x10')",
                                   "return tostring(nil)",
                                   "return '' .. 10000000000000",
                                   "return '' .. 100000000000000",
                                   "return 3.99999999999999999",
                                   "return table.concat({1,2},',')",
                                   "return select('#',1,2)",
                                   "return #_G",
                                   "return function() end",
                                   "return type(loadstring) .. type(load) .. type(xpcall) .. type(coroutine)",
                                   "return os",
                                   "return io",
                                   "return print",
                                   "return require",
                                   "return debug",
                                   "return dofile",
                                   "return setfenv",
                                   "return loadstring('return 1 + 1')()",
                                   "return redis.call('ZADD','zz',1.5,'m')",
                                   "return redis.call(1)",
                                   "return math.floor(3.7)",
                                   "return ('x'):rep(3)",
                                   "return tostring(1e15)",
                                   "return unpack({1,2})",
                                   "local t = redis.call('time') return t[1]*1000000 + t[2]"}) {
        EXPECT_TRUE(both.step(0, words{"EVAL", text, "0"})) << text;
        EXPECT_TRUE(both.step(0, words{"EVAL", text, "1", "key", "argument"})) << text;
        EXPECT_TRUE(both.step(0, words{"EVALSHA", sha1(text), "0"})) << text;
    }
    EXPECT_TRUE(both.step(0, words{"EVAL", "return 1", "x"}));
    EXPECT_TRUE(both.step(0, words{"EVAL", "return 1", "-1"}));
    EXPECT_TRUE(both.step(0, words{"EVAL", "return 1", "3", "a"}));
    EXPECT_TRUE(both.step(0, words{"EVALSHA",
                                   [] {
                                       std::string sha = sha1("return 1,2");
                                       std::ranges::transform(sha, sha.begin(), [](unsigned char c) {
                                           return static_cast<char>(std::toupper(c));
                                       });
                                       return sha;
                                   }(),
                                   "0"}));
}

/// What a server that is in some trouble refuses, by itself and inside scripts.
class Refusals : public testing::Test {
protected:
    void compare_all() {
        for (const char* const line : {"PING",
                                       "TIME",
                                       "ECHO x",
                                       "GET s",
                                       "EXISTS s",
                                       "SET s x",
                                       "SET s x NX",
                                       "DEL nokey",
                                       "PEXPIRE s 1000000",
                                       "RPUSH l x",
                                       "LPOP l",
                                       "BLPOP l 0",
                                       "ZADD z 1 a",
                                       "ZREM z q",
                                       "HINCRBY h f 1",
                                       "WAIT 0 0",
                                       "SCRIPT EXISTS x",
                                       "SELECT 0",
                                       "CLIENT KILL ID 7777",
                                       "NOSUCH",
                                       "GET",
                                       "FLUSHALL"}) {
            EXPECT_TRUE(both.step(0, line)) << line;
        }
        for (const char* const text :
             {"return 1", "return redis.call('get','s')", "return redis.call('set','s','x')",
              "return redis.call('del','nokey')", "return redis.call('ping')",
              "redis.call('del','nokey') return redis.call('set','s','y')",
              "local r = redis.pcall('set','s','x') if type(r) == 'table' and r.err then return {r.err} end "
              "return r",
              "return redis.call('pexpire','s',1000000)", "return redis.call('time')",
              "redis.call('get','s') return redis.call('rpush','l','x')"}) {
            EXPECT_TRUE(both.step(0, words{"EVAL", text, "0"})) << text;
            EXPECT_TRUE(both.step(0, words{"EVALSHA", sha1(text), "0"})) << text;
        }
    }

    void SetUp() override {
        for (const char* const line : {"SET s abc", "RPUSH l a b c d", "ZADD z 1 a"}) {
            ASSERT_TRUE(both.step(0, line));
        }
    }

    both_servers both;
};

TEST_F(Refusals, None) { compare_all(); }

TEST_F(Refusals, OutOfMemory) {
    both.control().execute({"CONFIG", "SET", "maxmemory", "1"});
    both.simulated().trouble.out_of_memory = true;
    compare_all();
}

TEST_F(Refusals, TooFewReplicas) {
    both.control().execute({"CONFIG", "SET", "min-replicas-to-write", "1"});
    both.simulated().trouble.too_few_replicas = true;
    compare_all();
}

TEST_F(Refusals, Misconf) {
    const auto gone = both.directory() / "gone";
    std::filesystem::create_directory(gone);
    ASSERT_EQ(both.control().execute({"CONFIG", "SET", "save", "3600 1"}).text(), "OK");
    ASSERT_EQ(both.control().execute({"CONFIG", "SET", "dir", gone.string()}).text(), "OK");
    std::filesystem::remove(gone);
    ASSERT_EQ(both.control().execute({"BGSAVE"}).text(), "Background saving started");
    ASSERT_TRUE(both_servers::wait_for([&] {
        return both.control().execute({"INFO", "persistence"}).text().find("last_bgsave_status:err") !=
               std::string::npos;
    }));
    both.simulated().trouble.misconf = true;
    compare_all();
}

TEST_F(Refusals, Replica) {
    server primary;
    const session writer{primary};
    both.control().execute({"REPLICAOF", "127.0.0.1", "1"});
    both.simulated().follow(primary);
    for (const char* const line : {"SET s abc", "RPUSH l a b c d", "ZADD z 1 a"}) {
        session other{primary};
        const auto argv = split(line);
        const std::vector<std::string_view> views{argv.begin(), argv.end()};
        primary.execute(other, views);
    }
    ASSERT_TRUE(both.simulated().pull());
    compare_all();
}

TEST_F(Refusals, MasterDown) {
    server primary;
    both.control().execute({"CONFIG", "SET", "replica-serve-stale-data", "no"});
    both.control().execute({"REPLICAOF", "127.0.0.1", "1"});
    both.simulated().follow(primary);
    both.simulated().trouble.master_down = true;
    compare_all();
}

TEST_F(Refusals, DeniedCommands) {
    for (const char* const name : {"set", "evalsha", "pexpire", "blpop", "script|exists", "client|kill", "ping"}) {
        const std::string rule = std::string{"-"}.append(name);
        ASSERT_TRUE(both.control().execute({"ACL", "SETUSER", "default", rule}).is_status("OK")) << name;
        both.simulated().trouble.denied.insert(name);
    }
    compare_all();
}

TEST(Differential, Passwords) {
    both_servers both;
    both.control().execute({"CONFIG", "SET", "requirepass", "secret"});
    real_client real{both.socket()};
    server simulated{{.password = "secret"}};
    session client{simulated};
    for (const char* const line : {"GET k", "NOSUCH", "GET", "AUTH x", "AUTH other secret", "PING", "AUTH secret",
                                   "GET k", "AUTH default secret", "AUTH default x", "GET k"}) {
        const words argv = split(line);
        const std::vector<std::string_view> views{argv.begin(), argv.end()};
        const reply expected = real.execute(views);
        EXPECT_EQ(*simulated.execute(client, views), expected) << line << ": " << expected.text();
    }
}

/// A change of role answers blocked clients and hangs up on them.
TEST(Differential, RoleChangeUnblocks) {
    both_servers both;
    ASSERT_TRUE(both.step(1, "BLPOP q0 0"));
    ASSERT_TRUE(both.step(2, "BLPOP q1 q0 0"));
    server primary;
    both.control().execute({"REPLICAOF", "127.0.0.1", "1"});
    both.simulated().follow(primary);
    ASSERT_TRUE(both.compare_wakeups());
    for (const std::size_t who : {1U, 2U}) {
        EXPECT_FALSE(both.simulated_client(who).is_open());
        EXPECT_THROW(both.real_client_at(who).receive(), std::runtime_error);
    }
    EXPECT_TRUE(both.simulated_client(0).is_open());
    EXPECT_TRUE(both.step(0, "GET k"));
}

/// A pause keeps commands back until it ends; a pause of writes lets reads through.
TEST(Differential, Pauses) {
    both_servers both;
    ASSERT_TRUE(both.step(0, "CLIENT PAUSE 100000 WRITE"));
    for (const char* const line : {"GET k", "BLPOP q 0", "SET k a"}) {
        ASSERT_TRUE(both.step(line[0] == 'S' ? 2 : line[0] == 'B' ? 1 : 0, line));
    }
    ASSERT_TRUE(both.step(3, words{"EVAL", "return redis.call('get','k')", "0"}));
    EXPECT_TRUE(both.is_blocked(1) && both.is_blocked(2) && both.is_blocked(3));
    ASSERT_TRUE(both.step(0, "GET k"));
    ASSERT_TRUE(both.step(2, "GET k")) << "waits behind the SET";
    ASSERT_TRUE(both.step(0, "CLIENT UNPAUSE"));
    EXPECT_TRUE(both.is_blocked(1));
    EXPECT_FALSE(both.is_blocked(2) || both.is_blocked(3));
    ASSERT_TRUE(both.step(0, "RPUSH q x"));
}

} // namespace
} // namespace distlock::simulation
