// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <stdio.h>

size_t ar_text_step(const char *at, size_t n_left)
{
    size_t n = ar_utf8_length(at, n_left);

    return n ? n : 1;
}

uint32_t ar_text_code(const char *at, size_t n_bytes)
{
    const unsigned char *c = (const unsigned char *)at;
    uint32_t code = n_bytes == 1 ? c[0] : c[0] & (0x7fu >> n_bytes);

    for (size_t i = 1; i < n_bytes; i++)
        code = code << 6 | (c[i] & 0x3f);
    return code;
}

/*
 * A byte that is no character has a code from 0x80 on, and none of the characters up to 0x9f may be
 * shown: n_bytes tells it from the others. Joiners (U+200C, U+200D) stay, since scripts and emoji
 * need them.
 */
bool ar_text_is_displayable(const char *at, size_t n_bytes)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x00, 0x1f},       /* control characters */
        {0x7f, 0x9f},       /* DEL and the second set of them */
        {0x61c, 0x61c},     /* direction: Arabic letter mark */
        {0x180e, 0x180e},   /* invisible: Mongolian vowel separator */
        {0x200b, 0x200b},   /* invisible: space without width */
        {0x200e, 0x200f},   /* direction: marks */
        {0x2028, 0x202e},   /* ends of lines and paragraphs; direction: embeddings, overrides */
        {0x2060, 0x206f},   /* invisible operators; direction: isolates */
        {0xfeff, 0xfeff},   /* invisible: byte order mark */
        {0xfff9, 0xfffb},   /* annotations, which some terminals hide */
        {0xe0000, 0xe007f}, /* invisible: tags */
    };
    uint32_t code = ar_text_code(at, n_bytes);

    if (n_bytes == 1 && code >= 0x80)
        return false;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return false;
    return true;
}

/* Most text is ASCII, and there may be gigabytes of it. */
static size_t plain_bytes(const char *text, size_t n_bytes)
{
    size_t n = 0;

    while (n < n_bytes && text[n] >= 0x20 && text[n] < 0x7f)
        n++;
    return n;
}

void ar_text_put(struct ar_bytes *out, const char *text, size_t n_bytes)
{
    for (size_t at = 0, n; at < n_bytes; at += n) {
        n = plain_bytes(text + at, n_bytes - at);
        if (n) {
            ar_bytes_put(out, text + at, n);
            continue;
        }
        n = ar_text_step(text + at, n_bytes - at);
        if (ar_text_is_displayable(text + at, n))
            ar_bytes_put(out, text + at, n);
        else
            ar_bytes_u8(out, '?');
    }
}

size_t ar_text_make_displayable(char *text, size_t n_bytes)
{
    size_t n_made = 0;

    for (size_t at = 0, n; at < n_bytes; at += n) {
        n = ar_text_step(text + at, n_bytes - at);
        if (ar_text_is_displayable(text + at, n)) {
            memmove(text + n_made, text + at, n);
            n_made += n;
        } else {
            text[n_made++] = '?';
        }
    }
    return n_made;
}

static bool is_displayable(const char *text)
{
    for (size_t n, n_left = strlen(text); n_left; text += n, n_left -= n) {
        n = ar_text_step(text, n_left);
        if (!ar_text_is_displayable(text, n))
            return false;
    }
    return true;
}

/* Whether a shell takes the byte for itself; those beyond ASCII are letters. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80 || (c && strchr("_@%+=:,./-", c));
}

static bool needs_no_quotes(const char *word)
{
    for (const char *c = word; *c; c++)
        if (!is_plain(*c))
            return false;
    return *word;
}

bool ar_text_quote(const char *word, char *out, size_t n_out)
{
    bool is_shown = is_displayable(word), is_bare = is_shown && needs_no_quotes(word);
    size_t n = (size_t)snprintf(out, n_out, "%s", is_bare ? "" : is_shown ? "'" : "$'");

    for (; *word && n < n_out; word++) {
        const char *form = "%c";

        if (!is_bare && *word == '\'')
            form = is_shown ? "'\\%c'" : "\\%c";
        else if (!is_shown && *word == '\\')
            form = "\\%c";
        else if (!is_shown && !(*word >= 0x20 && *word < 0x7f))
            form = "\\x%02x";
        n += (size_t)snprintf(out + n, n_out - n, form, (unsigned char)*word);
    }
    if (n < n_out)
        n += (size_t)snprintf(out + n, n_out - n, "%s", is_bare ? "" : "'");
    return n < n_out;
}
