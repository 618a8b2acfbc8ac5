// SPDX-License-Identifier: MIT
#include "commands.hpp"
#include "sha1.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <unordered_map>

#include <lua.hpp>

/// EVAL and its family on liblua 5.1, by the rules of Redis 7.0 (RESP2).
///
/// One Lua state per thread serves all servers there, and every text is compiled once. Scripts cannot leave
/// anything behind in it: globals are read-only. Which scripts a server knows is the server's own affair.
namespace distlock::simulation {

struct compiled_script {
    std::string sha;
    int function; // in the registry
};

namespace {

/// A script that is running: whose commands redis.call runs.
struct execution {
    server& at;
    session& from;
    bool wrote = false;
};

constexpr int deepest = 100;
/// Where the state keeps the error handler all the time.
constexpr int handler_index = 1;

std::string_view text_at(lua_State* lua, int index) {
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua, index, &size);
    return {text, size};
}

void push(lua_State* lua, std::string_view text) { lua_pushlstring(lua, text.data(), text.size()); }

/// A table with one field, as redis.error_reply makes it.
void push_field(lua_State* lua, const char* name, std::string_view text) {
    lua_createtable(lua, 0, 1);
    push(lua, text);
    lua_setfield(lua, -2, name);
}

/// "-CODE words" stands as it is, "words" gets the code ERR.
void push_error(lua_State* lua, std::string_view text) {
    while (text.ends_with('\r') || text.ends_with('\n')) {
        text.remove_suffix(1);
    }
    if (!text.starts_with('-')) {
        push_field(lua, "err", joined({"ERR ", text}));
    } else if (text.find(' ') == std::string_view::npos) {
        push_field(lua, "err", joined({"ERR ", text.substr(1)}));
    } else {
        push_field(lua, "err", text.substr(1));
    }
}

void push_reply(lua_State* lua, const reply& from) {
    switch (from.type()) {
    case reply::kind::nil:
        lua_pushboolean(lua, 0);
        break;
    case reply::kind::integer:
        lua_pushnumber(lua, static_cast<lua_Number>(from.as_integer()));
        break;
    case reply::kind::string:
        push(lua, from.text());
        break;
    case reply::kind::status:
        push_field(lua, "ok", from.text());
        break;
    case reply::kind::error:
        push_field(lua, "err", from.text());
        break;
    case reply::kind::array: {
        const auto& elements = from.elements();
        luaL_checkstack(lua, 4, "reply too deep");
        lua_createtable(lua, static_cast<int>(elements.size()), 0);
        for (std::size_t i = 0; i < elements.size(); ++i) {
            push_reply(lua, elements[i]);
            lua_rawseti(lua, -2, static_cast<int>(i) + 1);
        }
        break;
    }
    }
}

std::string one_line(std::string_view text) {
    std::string line{text};
    std::ranges::replace_if(
        line, [](char c) { return c == '\r' || c == '\n'; }, ' ');
    return line;
}

std::int64_t truncated(lua_Number number) {
    // What x86 makes of a number that does not fit.
    const bool fits = number >= -9223372036854775808.0 && number < 9223372036854775808.0;
    return fits ? static_cast<std::int64_t>(number) : std::numeric_limits<std::int64_t>::min();
}

/// The string in field `name` of the table at the top, if it is one.
bool string_field(lua_State* lua, const char* name, std::string& text) {
    lua_pushstring(lua, name);
    lua_rawget(lua, -2);
    const bool is_string = lua_type(lua, -1) == LUA_TSTRING;
    if (is_string) {
        text = one_line(text_at(lua, -1));
    }
    lua_pop(lua, 1);
    return is_string;
}

/// The value at the top as a reply; pops it.
reply pop_reply(lua_State* lua, int depth) {
    reply made;
    switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
        made = reply::string(std::string{text_at(lua, -1)});
        break;
    case LUA_TNUMBER:
        made = reply::integer(truncated(lua_tonumber(lua, -1)));
        break;
    case LUA_TBOOLEAN:
        made = lua_toboolean(lua, -1) != 0 ? reply::integer(1) : reply::nil();
        break;
    case LUA_TTABLE: {
        std::string text;
        if (depth > deepest) {
            made = reply::error("ERR reached lua stack limit");
        } else if (string_field(lua, "err", text)) {
            made = reply::error(std::move(text));
        } else if (string_field(lua, "ok", text)) {
            made = reply::status(std::move(text));
        } else {
            std::vector<reply> elements;
            lua_checkstack(lua, 4);
            for (int i = 1;; ++i) {
                lua_rawgeti(lua, -1, i);
                if (lua_isnil(lua, -1)) {
                    lua_pop(lua, 1);
                    break;
                }
                elements.push_back(pop_reply(lua, depth + 1));
            }
            made = reply::array(std::move(elements));
        }
        break;
    }
    default:
        break;
    }
    lua_pop(lua, 1);
    return made;
}

/// Redis' own lrand48. A real server goes on where the last script stopped; here each run of a script starts
/// anew, so that what one server does depends on nothing else in the process.
thread_local std::array<unsigned short, 3> random_state;
constexpr std::array<unsigned short, 3> random_start{0x330e, 0xabcd, 0x1234};

} // namespace

class script_runtime {
public:
    static script_runtime& get() {
        static thread_local script_runtime made;
        return made;
    }

    script_runtime();
    ~script_runtime() { lua_close(lua_); }
    script_runtime(const script_runtime&) = delete;
    script_runtime& operator=(const script_runtime&) = delete;

    /// The script, or nullptr with Lua's complaint.
    const compiled_script* compile(std::string_view text, std::string& complaint);
    reply run(const compiled_script& script, arguments keys, arguments rest, execution& context);

private:
    static int call(lua_State* lua) { return run_command(lua) ? 1 : lua_error(lua); }
    static int pcall(lua_State* lua) { return run_command(lua), 1; }
    static bool run_command(lua_State* lua);

    void make_read_only(const char* library);

    struct hasher {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    lua_State* lua_;
    execution* running_ = nullptr;
    std::unordered_map<std::string, std::unique_ptr<compiled_script>, hasher, std::equal_to<>> compiled_;
};

namespace {

/// Turns whatever was raised into {err=, source=, line=}.
int describe_error(lua_State* lua) {
    lua_Debug where{};
    bool known = lua_getstack(lua, 1, &where) != 0 && lua_getinfo(lua, "nSl", &where) != 0;
    if (known && std::string_view{where.what} == "C") {
        known = lua_getstack(lua, 2, &where) != 0 && lua_getinfo(lua, "nSl", &where) != 0;
    }
    if (!lua_istable(lua, 1)) {
        const char* const text = lua_tostring(lua, 1);
        lua_pushfstring(lua, "ERR %s", text == nullptr ? luaL_typename(lua, 1) : text);
        lua_createtable(lua, 0, 3);
        lua_insert(lua, -2);
        lua_setfield(lua, -2, "err");
        lua_replace(lua, 1);
    }
    if (known) {
        lua_pushstring(lua, where.source);
        lua_setfield(lua, 1, "source");
        lua_pushinteger(lua, where.currentline);
        lua_setfield(lua, 1, "line");
    }
    lua_settop(lua, 1);
    return 1;
}

int no_such_global(lua_State* lua) {
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'", lua_tostring(lua, 2));
}

int read_only(lua_State* lua) { return luaL_error(lua, "Attempt to modify a readonly table"); }

/// Lua's pcall, but a table with a string `err` comes out as that string.
int protected_call(lua_State* lua) {
    luaL_checkany(lua, 1);
    const int failed = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
    if (failed != 0 && lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
        if (lua_isstring(lua, -1) != 0) {
            lua_replace(lua, -2);
        } else {
            lua_pop(lua, 1);
        }
    }
    lua_pushboolean(lua, failed == 0 ? 1 : 0);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

int reply_of(lua_State* lua, bool error) {
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
        push_error(lua, "wrong number or type of arguments");
    } else if (error) {
        const std::string_view text = text_at(lua, 1);
        push_error(lua, joined({text.starts_with('-') ? "" : "-", text}));
    } else {
        push_field(lua, "ok", text_at(lua, 1));
    }
    return 1;
}
int error_reply(lua_State* lua) { return reply_of(lua, true); }
int status_reply(lua_State* lua) { return reply_of(lua, false); }

int sha1hex(lua_State* lua) {
    if (lua_gettop(lua) != 1) {
        push_error(lua, "wrong number of arguments");
        return lua_error(lua);
    }
    push(lua, sha1(text_at(lua, 1)));
    return 1;
}

int log(lua_State*) { return 0; }
int replicate_commands(lua_State* lua) {
    lua_pushboolean(lua, 1);
    return 1;
}

int random_number(lua_State* lua) {
    constexpr long most = std::numeric_limits<std::int32_t>::max();
    const lua_Number r = static_cast<lua_Number>(nrand48(random_state.data()) % most) / static_cast<lua_Number>(most);
    if (lua_gettop(lua) == 0) {
        lua_pushnumber(lua, r);
        return 1;
    }
    const bool one = lua_gettop(lua) == 1;
    const int low = one ? 1 : luaL_checkint(lua, 1);
    const int high = luaL_checkint(lua, one ? 1 : 2);
    luaL_argcheck(lua, low <= high, one ? 1 : 2, "interval is empty");
    lua_pushnumber(lua, std::floor(r * (high - low + 1)) + low);
    return 1;
}

int random_seed(lua_State* lua) {
    const auto seed = static_cast<unsigned>(luaL_checkint(lua, 1));
    random_state = {0x330e, static_cast<unsigned short>(seed & 0xffff), static_cast<unsigned short>(seed >> 16)};
    return 0;
}

} // namespace

script_runtime::script_runtime()
    : lua_{luaL_newstate()} {
    lua_pushcfunction(lua_, describe_error); // stays at handler_index
    for (const lua_CFunction open : {luaopen_base, luaopen_string, luaopen_table, luaopen_math}) {
        lua_pushcfunction(lua_, open);
        lua_call(lua_, 0, 0);
    }
    for (const char* const unwanted :
         {"dofile", "loadfile", "print", "newproxy", "setfenv", "getfenv", "module", "require", "package"}) {
        lua_pushnil(lua_);
        lua_setglobal(lua_, unwanted);
    }
    lua_pushcfunction(lua_, protected_call);
    lua_setglobal(lua_, "pcall");
    constexpr luaL_Reg math[] = {{"random", random_number}, {"randomseed", random_seed}, {nullptr, nullptr}};
    constexpr luaL_Reg redis[] = {{"call", call},
                                  {"pcall", pcall},
                                  {"error_reply", error_reply},
                                  {"status_reply", status_reply},
                                  {"sha1hex", sha1hex},
                                  {"log", log},
                                  {"replicate_commands", replicate_commands},
                                  {nullptr, nullptr}};
    luaL_register(lua_, "math", math);
    luaL_register(lua_, "redis", redis);
    int level = 0;
    for (const char* const name : {"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"}) {
        lua_pushinteger(lua_, level++);
        lua_setfield(lua_, -2, name);
    }
    lua_pop(lua_, 2);
    for (const char* const name : {"redis", "string", "table", "math", "coroutine"}) {
        make_read_only(name);
    }
    // The scripts' globals: an empty table in front of the real ones.
    lua_pushvalue(lua_, LUA_GLOBALSINDEX);
    lua_createtable(lua_, 0, 1);
    lua_pushcfunction(lua_, no_such_global);
    lua_setfield(lua_, -2, "__index");
    lua_setmetatable(lua_, -2);
    lua_newtable(lua_);
    lua_createtable(lua_, 0, 2);
    lua_pushvalue(lua_, -3);
    lua_setfield(lua_, -2, "__index");
    lua_pushcfunction(lua_, read_only);
    lua_setfield(lua_, -2, "__newindex");
    lua_setmetatable(lua_, -2);
    lua_pushvalue(lua_, -1);
    lua_setfield(lua_, -3, "_G");
    lua_replace(lua_, LUA_GLOBALSINDEX);
    lua_settop(lua_, handler_index);
}

/// Puts a read-only table in front of the library.
void script_runtime::make_read_only(const char* library) {
    lua_newtable(lua_);
    lua_createtable(lua_, 0, 2);
    lua_getglobal(lua_, library);
    lua_setfield(lua_, -2, "__index");
    lua_pushcfunction(lua_, read_only);
    lua_setfield(lua_, -2, "__newindex");
    lua_setmetatable(lua_, -2);
    lua_setglobal(lua_, library);
}

const compiled_script* script_runtime::compile(std::string_view text, std::string& complaint) {
    if (const auto known = compiled_.find(text); known != compiled_.end()) {
        return known->second.get();
    }
    // On the same line, so that line numbers in messages stay the text's own.
    const std::string whole = joined({"local KEYS,ARGV=... ", text});
    if (luaL_loadbuffer(lua_, whole.data(), whole.size(), "@user_script") != 0) {
        complaint = one_line(text_at(lua_, -1));
        lua_pop(lua_, 1);
        return nullptr;
    }
    auto made = std::make_unique<compiled_script>(compiled_script{sha1(text), luaL_ref(lua_, LUA_REGISTRYINDEX)});
    return compiled_.emplace(text, std::move(made)).first->second.get();
}

reply script_runtime::run(const compiled_script& script, arguments keys, arguments rest, execution& context) {
    running_ = &context;
    random_state = random_start;
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, script.function);
    for (const arguments words : {keys, rest}) {
        lua_createtable(lua_, static_cast<int>(words.size()), 0);
        for (std::size_t i = 0; i < words.size(); ++i) {
            push(lua_, words[i]);
            lua_rawseti(lua_, -2, static_cast<int>(i) + 1);
        }
    }
    const int failed = lua_pcall(lua_, 2, 1, handler_index);
    running_ = nullptr;
    if (failed == 0) {
        return pop_reply(lua_, 0);
    }
    std::string text = "ERR unknown error";
    if (lua_istable(lua_, -1)) {
        string_field(lua_, "err", text);
        std::string source;
        if (string_field(lua_, "source", source)) {
            lua_getfield(lua_, -1, "line");
            text +=
                joined({" script: ", script.sha, ", on ", source, ":", std::to_string(lua_tointeger(lua_, -1)), "."});
            lua_pop(lua_, 1);
        }
    }
    lua_settop(lua_, handler_index);
    return reply::error(std::move(text));
}

/// Leaves the reply as a Lua value at the top; false when it is an error. lua_error must not cross this
/// frame.
bool script_runtime::run_command(lua_State* lua) {
    constexpr int most_inline = 16;
    const int count = lua_gettop(lua);
    if (count == 0) {
        push_error(lua, "Please specify at least one argument for this redis lib call");
        return false;
    }
    std::array<std::string_view, most_inline> few;
    std::vector<std::string_view> many;
    if (count > most_inline) {
        many.resize(static_cast<std::size_t>(count));
    }
    const std::span<std::string_view> argv =
        many.empty() ? std::span{few}.first(static_cast<std::size_t>(count)) : std::span{many};
    for (int i = 1; i <= count; ++i) {
        const int type = lua_type(lua, i);
        if (type == LUA_TNUMBER) {
            // The state keeps the text alive in the number's place.
            push(lua, double_text(lua_tonumber(lua, i)));
            lua_replace(lua, i);
        } else if (type != LUA_TSTRING) {
            push_error(lua, "Lua redis lib command arguments must be strings or integers");
            return false;
        }
        argv[static_cast<std::size_t>(i - 1)] = text_at(lua, i);
    }
    execution& context = *get().running_;
    const reply answer = context.at.run_in_script(context.from, argv, context.wrote);
    push_reply(lua, answer);
    return !answer.is_error();
}

struct script_engine {
    /// Newer servers keep 500 scripts that came by EVAL and forget the least recently used.
    static constexpr std::size_t most_from_eval = 500;

    static void learn(server& at, const compiled_script& code, bool from_eval) {
        auto& scripts = at.scripts_;
        const auto known = scripts.find(code.sha);
        if (known != scripts.end()) {
            known->second.used = ++at.script_uses_;
            known->second.from_eval = known->second.from_eval && from_eval;
            return;
        }
        if (from_eval && at.options_.kind != flavour::redis_7_0) {
            const auto evictable = [](const auto& each) { return each.second.from_eval; };
            if (static_cast<std::size_t>(std::ranges::count_if(scripts, evictable)) >= most_from_eval) {
                scripts.erase(std::ranges::min_element(scripts, {}, [](const auto& each) {
                    return each.second.from_eval ? each.second.used : std::numeric_limits<std::uint64_t>::max();
                }));
            }
        }
        scripts.emplace(code.sha, server::known_script{&code, from_eval, ++at.script_uses_});
    }

    static reply run(call& c, bool by_sha) {
        static const auto no_script = "NOSCRIPT No matching script. Please use EVAL.";
        if (by_sha && c.argv[1].size() != 40) {
            return reply::error(no_script);
        }
        std::int64_t keys = 0;
        if (!parse_integer(c.argv[2], keys)) {
            return not_an_integer();
        }
        if (keys > static_cast<std::int64_t>(c.argv.size()) - 3) {
            return reply::error("ERR Number of keys can't be greater than number of args");
        }
        if (keys < 0) {
            return reply::error("ERR Number of keys can't be negative");
        }
        const compiled_script* code = nullptr;
        if (by_sha) {
            const auto known = find(c.at, c.argv[1]);
            if (known == c.at.scripts_.end()) {
                return reply::error(no_script);
            }
            known->second.used = ++c.at.script_uses_;
            code = known->second.code;
        } else {
            std::string complaint;
            code = script_runtime::get().compile(c.argv[1], complaint);
            if (code == nullptr) {
                return reply::error(joined({"ERR Error compiling script (new function): ", complaint}));
            }
            learn(c.at, *code, true);
        }
        if (c.at.trouble.master_down) {
            return reply::error(master_down_text);
        }
        execution context{c.at, c.from};
        const auto count = static_cast<std::size_t>(keys);
        return script_runtime::get().run(*code, c.argv.subspan(3, count), c.argv.subspan(3 + count), context);
    }

    static decltype(server::scripts_)::iterator find(server& at, std::string_view sha) {
        const auto as_it_is = at.scripts_.find(sha);
        if (as_it_is != at.scripts_.end()) {
            return as_it_is;
        }
        std::string lower{sha};
        std::ranges::transform(lower, lower.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return at.scripts_.find(lower);
    }

    static reply eval(call& c) { return run(c, false); }
    static reply evalsha(call& c) { return run(c, true); }

    static reply load(call& c) {
        std::string complaint;
        const auto* const code = script_runtime::get().compile(c.argv[2], complaint);
        if (code == nullptr) {
            return reply::error(joined({"ERR Error compiling script (new function): ", complaint}));
        }
        learn(c.at, *code, false);
        return reply::string(code->sha);
    }

    static reply exists(call& c) {
        std::vector<reply> known;
        for (const auto sha : c.argv.subspan(2)) {
            known.push_back(count(c.at.scripts_.contains(sha)));
        }
        return reply::array(std::move(known));
    }

    static reply flush(call& c) {
        if (c.argv.size() > 3 || (c.argv.size() == 3 && !is_word(c.argv[2], "sync") && !is_word(c.argv[2], "async"))) {
            return reply::error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
        }
        c.at.scripts_.clear();
        return ok();
    }

    /// A container without its subcommand never passes the arity check.
    static reply container(call&) { return syntax_error(); }
};

std::span<const command> script_commands() {
    constexpr unsigned evals = command::not_in_scripts | command::while_stale | command::may_write;
    using s = script_engine;
    static const command table[] = {
        {"eval", -3, evals, s::eval},
        {"evalsha", -3, evals, s::evalsha},
        {"script", -2, command::container, s::container},
        {"script|load", 3, command::not_in_scripts, s::load},
        {"script|exists", -3, command::not_in_scripts, s::exists},
        {"script|flush", -2, command::not_in_scripts, s::flush},
    };
    return table;
}

} // namespace distlock::simulation
