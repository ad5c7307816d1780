// SPDX-License-Identifier: BSD-3-Clause
/*
 * The arguments are one library linked in several ways (slots_caller.c), by what is done to its
 * slots: "lazy" ones are filled in at the first call, "now" ones at loading and are read-only
 * since, "noplt" ones are no jump slots.
 */
#include "runtime/elf_slots.h"

#include "tap.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS 64

typedef int (*operation)(int, int);

static int ours(int a, int b)
{
    return 1000 + a * b;
}

/* ---- helpers --------------------------------------------------------------------------------- */

struct library {
    const char *path;
    void *handle;
    struct ar_object object;
    operation add, add_by_pointer, subtract;
};

static bool is_any(const struct ar_object *object, void *context)
{
    (void)object;
    (void)context;
    return true;
}

static bool has_name(const struct ar_object *object, void *name)
{
    return strcmp(object->name, name) == 0;
}

/* The name is the caller's: the list's own ends with it. */
static bool find_object(const char *name, struct ar_object *out)
{
    size_t n;
    size_t n_walked = 0;
    struct ar_object *list = ar_objects_list(has_name, (void *)name, &n_walked, &n);
    bool found = n == 1;

    if (found) {
        *out = list[0];
        out->name = name;
    }
    ar_objects_free(list, n);
    return found;
}

static operation operation_of(void *handle, const char *name)
{
    union {
        void *address;
        operation call;
    } u = {.address = dlsym(handle, name)};

    return u.call;
}

static void *address_of(operation call)
{
    union {
        operation call;
        void *address;
    } u = {.call = call};

    return u.address;
}

static bool load(struct library *l, const char *path)
{
    *l = (struct library){.path = path, .handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL)};
    if (!l->handle) {
        tap_note("%s", dlerror());
        return false;
    }
    l->add = operation_of(l->handle, "caller_add");
    l->add_by_pointer = operation_of(l->handle, "caller_add_by_pointer");
    l->subtract = operation_of(l->handle, "caller_subtract");
    return l->add && l->add_by_pointer && l->subtract && find_object(path, &l->object);
}

struct slots {
    void **of_add[MAX_SLOTS];
    size_t n_add, n_all;
    const struct ar_object *object;
};

static void note_slot(const struct ar_object *object, const char *symbol, void **slot,
                      void *context)
{
    struct slots *s = context;

    s->object = object;
    s->n_all++;
    if (strcmp(symbol, "slots_add") == 0 && s->n_add < MAX_SLOTS)
        s->of_add[s->n_add++] = slot;
}

static struct slots slots_of(const struct library *l, const char *prefix)
{
    struct slots s = {0};

    ar_slots_each(&l->object, prefix, note_slot, &s);
    return s;
}

/* What the kernel says that may be done at that address: "rw-p". */
static const char *rights_at(const void *address)
{
    static char rights[8];
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t from, to;

    strcpy(rights, "none");
    while (maps && fscanf(maps, "%" SCNxPTR "-%" SCNxPTR " %7s%*[^\n]", &from, &to, rights) == 3)
        if ((uintptr_t)address >= from && (uintptr_t)address < to)
            break;
    if (maps)
        fclose(maps);
    return rights;
}

/* ---- objects --------------------------------------------------------------------------------- */

static void test_objects(void)
{
    struct ar_object program;
    int on_stack = 0;

    tap_ok(find_object("", &program), "the program is in the list");
    tap_ok(program.dynamic && program.start < program.end, "it lies somewhere");
    tap_ok(ar_object_contains(&program, address_of(ours)), "its functions are in it");
    tap_ok(!ar_object_contains(&program, &on_stack), "the stack is not");
    tap_ok(!ar_object_contains(&program, NULL) &&
               !ar_object_contains(&program, (void *)program.end) &&
               ar_object_contains(&program, (void *)program.start),
           "from its start to its end");

    void *handle = ar_object_hold(&program);

    tap_ok(handle != NULL, "it can be held");
    if (handle)
        dlclose(handle);

    struct ar_object here;

    tap_ok(ar_object_at(address_of(ours), &here) && here.dynamic == program.dynamic,
           "it is found by an address");
    tap_ok(!ar_object_at(&on_stack, &here), "no object is at others");
}

/* Of every object, as the linker finds it; and what is only imported is not defined. */
static void test_functions(void)
{
    size_t n;
    size_t n_walked = 0;
    struct ar_object *all = ar_objects_list(is_any, NULL, &n_walked, &n);
    size_t n_defining = 0;

    for (size_t i = 0; i < n; i++) {
        void *getpid_there = ar_object_function(&all[i], "getpid");

        n_defining += getpid_there && getpid_there == dlsym(RTLD_DEFAULT, "getpid");
        tap_ok(!ar_object_function(&all[i], "no_such_function") &&
                   !ar_object_function(&all[i], "environ"),
               "%s: neither what is missing nor data", all[i].name);
    }
    tap_ok(n_defining == 1, "one defines getpid");
    ar_objects_free(all, n);
}

struct variable {
    double *found;
    size_t n, n_wrong;
};

static bool look_for_variable(const struct ar_object *object, void *context)
{
    struct variable *v = context;
    double *found = ar_object_variable(object, "slots_count", sizeof *found);

    v->found = found ? found : v->found;
    v->n += found != NULL;
    v->n_wrong += ar_object_variable(object, "slots_count", 4) ||
                  ar_object_variable(object, "slots_add", sizeof(double)) ||
                  ar_object_variable(object, "no_such_variable", sizeof(double)) ||
                  ar_object_function(object, "slots_count");
    return false;
}

static void test_variables(void)
{
    struct variable v = {0};

    ar_objects_each(look_for_variable, &v);
    tap_ok(v.n >= 1 && *v.found == 2.5, "a variable of a library");
    tap_ok(v.n_wrong == 0, "none of another size, and no function");
}

/* Whoever else closes it: it stays while it is held, and not longer. */
static void test_holding(struct library *l)
{
    struct ar_object another = l->object;
    void *handle = ar_object_hold(&l->object);

    tap_ok(handle && dlsym(handle, "caller_add") == address_of(l->add), "it can be held");
    another.base += 4096;
    tap_ok(!ar_object_hold(&another), "not under another address");
    dlclose(l->handle);

    struct ar_object found;

    tap_ok(find_object(l->path, &found) && l->add(2, 3) == 5, "it stays while it is held");
    if (handle)
        dlclose(handle);
    tap_ok(!find_object(l->path, &found), "and not longer");
}

static void test_loading(const char *path)
{
    struct ar_load_counts before = ar_objects_counts(), after, same = ar_objects_counts();
    struct library l;

    tap_ok(before.n_loaded == same.n_loaded && before.n_unloaded == same.n_unloaded,
           "counts stay while nothing is loaded");
    tap_ok(load(&l, path), "%s is loaded", strrchr(path, '/') + 1);
    after = ar_objects_counts();
    tap_ok(after.n_loaded > before.n_loaded && after.n_unloaded == before.n_unloaded,
           "that is counted");
    tap_ok(ar_object_contains(&l.object, address_of(l.add)) &&
               !ar_object_contains(&l.object, address_of(ours)),
           "its functions are in it, ours are not");

    tap_ok(ar_object_function(&l.object, "caller_add") == address_of(l.add) &&
               !ar_object_function(&l.object, "slots_add"),
           "it defines its own functions and not those that it imports");
    test_holding(&l);
    after = ar_objects_counts();
    tap_ok(after.n_unloaded > before.n_unloaded, "unloading is counted");
    tap_ok(!ar_object_hold(&l.object) && !dlerror(),
           "it is not loaded again for being asked for, and that is no error");
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void test_prefixes(const struct library *l)
{
    struct slots s = slots_of(l, "slots_");

    tap_ok(s.n_add >= 2 && s.n_all >= 3 && s.object == &l->object,
           "slots of a call, another call and a pointer: %zu", s.n_all);
    tap_ok(slots_of(l, "slots_a").n_all == s.n_add, "by their prefix");
    tap_ok(slots_of(l, "slots_add").n_all == s.n_add, "which may be the whole name");
    tap_ok(slots_of(l, "slots_addition").n_all == 0, "and not more");
    tap_ok(slots_of(l, "").n_all >= s.n_all, "or nothing");
}

static bool set_all(const struct library *l, const struct slots *s, void *const *values)
{
    bool set = true;

    for (size_t i = 0; i < s->n_add; i++)
        set = ar_slot_set(&l->object, s->of_add[i], values[i]) && set;
    return set;
}

/* `other` is loaded beside: whatever is done to `l`, it is left alone. */
static void test_redirect(const struct library *l, const struct library *other)
{
    struct slots s = slots_of(l, "slots_add");
    void *before[MAX_SLOTS], *redirected[MAX_SLOTS];
    char rights[8];

    for (size_t i = 0; i < s.n_add; i++) {
        before[i] = *s.of_add[i];
        redirected[i] = address_of(ours);
    }
    snprintf(rights, sizeof rights, "%s", s.n_add ? rights_at(s.of_add[0]) : "");
    tap_ok(set_all(l, &s, redirected), "slots are set");
    tap_ok(s.n_add && strcmp(rights_at(s.of_add[0]), rights) == 0, "they are %s as before", rights);
    tap_ok(l->add(2, 3) == 1006 && l->add_by_pointer(2, 3) == 1006, "calls come to us");
    tap_ok(l->subtract(2, 3) == -1, "other functions do not");
    tap_ok(other->add(2, 3) == 5, "nor do other callers");
    tap_ok(set_all(l, &s, before), "slots are set back");
    tap_ok(l->add(2, 3) == 5 && l->add_by_pointer(2, 3) == 5, "calls go where they went");
}

static operation real_add(const struct library *l)
{
    return operation_of(l->handle, "slots_add"); /* also looks in what the library needs */
}

static size_t count_slots_with(const struct library *l, const void *value)
{
    struct slots s = slots_of(l, "slots_add");
    size_t n = 0;

    for (size_t i = 0; i < s.n_add; i++)
        n += *s.of_add[i] == value;
    return n;
}

static size_t count_unresolved(const struct library *l)
{
    struct slots s = slots_of(l, "slots_add");
    size_t n = 0;

    for (size_t i = 0; i < s.n_add; i++)
        n += ar_object_contains(&l->object, *s.of_add[i]);
    return n;
}

/* Before its first call a lazy slot leads back into its own object. */
static void test_resolution(const struct library *l, bool lazy)
{
    struct slots s = slots_of(l, "slots_add");

    if (lazy && !getenv("LD_BIND_NOW"))
        tap_ok(count_unresolved(l) == 1, "one slot is not resolved yet");
    else if (!lazy)
        tap_ok(count_unresolved(l) == 0, "all slots are resolved");
    tap_ok(l->add(2, 3) == 5, "a call");
    tap_ok(count_slots_with(l, address_of(real_add(l))) == s.n_add, "resolves them");
}

/*
 * Redirected before the first call, and set back to what it was: the linker still finds the
 * function.
 */
static void test_variant(const char *path, const struct library *other)
{
    const char *name = strrchr(path, '/') + 1;
    struct library l;

    tap_note("%s", name);
    if (!tap_ok(load(&l, path), "%s is loaded", name))
        return;
    test_prefixes(&l);
    test_redirect(&l, other);
    dlclose(l.handle);
    tap_ok(load(&l, path), "again");
    test_resolution(&l, strstr(name, "lazy") != NULL);
    test_redirect(&l, other);
    if (strstr(name, "now")) /* the first is that of the call */
        tap_ok(strcmp(rights_at(slots_of(&l, "slots_add").of_add[0]), "r--p") == 0,
               "its slots are read-only");
    dlclose(l.handle);
}

int main(int n_args, char **args)
{
    struct library other;

    test_objects();
    test_functions();
    tap_ok(n_args >= 4, "libraries are given");
    for (int i = 1; i < n_args; i++) {
        test_loading(args[i]);
        if (tap_ok(load(&other, args[i == 1 ? 2 : 1]), "another caller")) {
            test_variables();
            test_variant(args[i], &other);
        }
        if (other.handle)
            dlclose(other.handle);
    }
    return tap_done();
}
