// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <array>
#include <functional>
#include <unordered_map>
#include <vector>

namespace distlock::simulation {
namespace {

struct index_of_commands {
    struct hasher {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
    };
    std::vector<command> all;
    std::unordered_map<std::string, std::size_t, hasher, std::equal_to<>> by_name;

    index_of_commands() {
        for (const auto table : {string_commands(), key_commands(), list_commands(), zset_commands(), hash_commands(),
                                 server_commands(), script_commands()}) {
            for (command each : table) {
                each.index = all.size();
                by_name.emplace(each.name, each.index);
                all.push_back(each);
            }
        }
    }

    static const index_of_commands& get() {
        static const index_of_commands made;
        return made;
    }
};

bool knows(flavour kind, std::string_view name) {
    return name == "delifeq" ? kind == flavour::valkey_9 : name != "delex" || kind == flavour::redis_8_4;
}

} // namespace

std::size_t command_count() { return index_of_commands::get().all.size(); }
const command& command_at(std::size_t index) { return index_of_commands::get().all[index]; }

const command* find_command(arguments argv, flavour kind) {
    std::array<char, 48> name;
    std::size_t size = 0;
    const auto add = [&](std::string_view word) {
        for (std::size_t i = 0; i < word.size() && size < name.size(); ++i) {
            const char c = word[i];
            name[size++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
    };
    const auto find = [&]() -> const command* {
        const auto& index = index_of_commands::get();
        const auto at = index.by_name.find(std::string_view{name.data(), size});
        return at == index.by_name.end() ? nullptr : &index.all[at->second];
    };
    if (argv.front().find('|') != std::string_view::npos) {
        return nullptr;
    }
    add(argv.front());
    const command* found = find();
    if (found == nullptr || !knows(kind, found->name)) {
        return nullptr;
    }
    if ((found->flags & command::container) != 0 && argv.size() > 1) {
        add("|");
        add(argv[1]);
        found = find();
    }
    return found;
}

} // namespace distlock::simulation
