// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/filter_rules.h"

#include "runtime/pyread.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 2048

struct rule {
    struct rule *next;
    bool excludes, is_about_files;
    char glob[];
};

static struct rule *first, **end = &first;

bool ar_filter_rules_add(const char *text)
{
    size_t n = strlen(text);

    if (n < 3 || !strchr("+-", text[0]) || !strchr("rf", text[1]))
        return false;

    struct rule *rule = malloc(sizeof *rule + n - 1);

    if (!rule)
        return false;
    rule->next = NULL;
    rule->excludes = text[0] == '-';
    rule->is_about_files = text[1] == 'f';
    memcpy(rule->glob, text + 2, n - 1);
    *end = rule;
    end = &rule->next;
    return true;
}

/* Does the last rule that matches exclude it? */
static bool is_excluded(const char *name, bool is_file)
{
    bool excluded = false;

    for (const struct rule *rule = first; rule; rule = rule->next)
        if (rule->is_about_files == is_file && rule->excludes != excluded &&
            fnmatch(rule->glob, name, 0) == 0)
            excluded = rule->excludes;
    return excluded;
}

/* ---- names ------------------------------------------------------------------------------------ */

struct part {
    const char *text;
    int n;
};

static struct part whole(const char *text)
{
    return (struct part){text, (int)strnlen(text, NAME_BYTES)};
}

static void join(char *room, struct part group, struct part class, const char *name)
{
    snprintf(room, NAME_BYTES, "%.*s%s%.*s:%s", group.n, group.text, class.n ? "." : "", class.n,
             class.text, name);
}

/* Of code without a module: "heat" of "/home/me/heat.py", "mesh" of "/home/me/mesh/__init__.py". */
static struct part module_of_file(const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    int n = (int)strcspn(name, ".");

    if (slash && strcmp(name, "__init__.py") == 0) {
        for (name = slash; name > file && name[-1] != '/';)
            name--;
        n = (int)(slash - name);
    }
    return n > 0 ? (struct part){name, n} : whole("unknown");
}

/* What stands in front of the last dot of a qualified name, up to the dot before. A function in a function has no class. */
static struct part class_of(const char *name, const char *dot)
{
    const char *start = dot;

    while (start > name && start[-1] != '.')
        start--;
    return *start == '<' ? whole("") : (struct part){start, (int)(dot - start)};
}

bool ar_filter_rules_hide_python(const char *name, const char *file, PyObject *globals)
{
    char room[NAME_BYTES];

    if (!first)
        return false;

    char *module = globals ? ar_pyread_module_name(globals) : NULL;
    const char *dot = strrchr(name, '.');
    bool has_class = dot && dot > name && dot[1];

    join(room, module && *module ? whole(module) : module_of_file(file),
         has_class ? class_of(name, dot) : whole(""), has_class ? dot + 1 : name);
    free(module);
    return is_excluded(room, false) || is_excluded(file, true);
}

/* A region with a colon of its own keeps what is in front of it; a colon in a parameter, `load(path='a:b')`, is none. */
bool ar_filter_rules_hide_region(const char *name)
{
    char room[NAME_BYTES];
    size_t n = strcspn(name, ":(");

    if (!first)
        return false;
    if (name[n] == ':' && name[n + 1])
        return is_excluded(n ? name : name + 1, false);
    join(room, whole("user"), whole(""), name);
    return is_excluded(room, false);
}

bool ar_filter_rules_hide_c(const char *owner, const char *name)
{
    char room[NAME_BYTES];
    const char *dot = owner ? NULL : strrchr(name, '.');

    if (!first)
        return false;
    if (dot && dot > name && dot[1])
        join(room, (struct part){name, (int)(dot - name)}, whole(""), dot + 1);
    else
        join(room, whole(owner ? owner : "builtins"), whole(""), name);
    return is_excluded(room, false);
}
