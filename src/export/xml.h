// SPDX-License-Identifier: BSD-3-Clause
/*
 * xml: texts in XML, whatever is in them.
 *
 * Names of functions, files and hosts are chosen by others. A character that XML does not allow or that may not be shown
 * (base/text.h) becomes '?', and so does a byte that is no UTF-8; what has a meaning in XML is escaped.
 *
 *     ar_xml_put(&out, "<region");
 *     ar_xml_attribute(&out, "mod", file);         //  mod="a&amp;b.py"
 *     ar_xml_put(&out, ">\n");
 *     ar_xml_element(&out, "name", name);          // <name>Grid:&lt;lambda&gt;</name>, and a line end
 */
#pragma once

#include "base/bytes.h"

void ar_xml_put(struct ar_bytes *out, const char *markup); /* as it is */
void ar_xml_integer(struct ar_bytes *out, int64_t value);
void ar_xml_text(struct ar_bytes *out, const char *text);
void ar_xml_attribute(struct ar_bytes *out, const char *name, const char *text);
void ar_xml_integer_attribute(struct ar_bytes *out, const char *name, int64_t value);
void ar_xml_element(struct ar_bytes *out, const char *name, const char *text);
void ar_xml_integer_element(struct ar_bytes *out, const char *name, int64_t value);
