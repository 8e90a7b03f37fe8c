"""How the kernel splits cells into parts."""
import unittest

from tessera_kernel.grammar import unreadable, words
from tessera_kernel.splitter import NotSupported, Splitter


def split(text, variables=()):
    return Splitter(text, variables).parts()


def kinds(text, variables=()):
    return [p.kind for p in split(text, variables)]


class Kinds(unittest.TestCase):
    def test_declarations_and_statements(self):
        self.assertEqual(kinds("#include <map>\nusing namespace std;\nstruct A { int x; };\nint f(A a) { return a.x; }\nA a{1};\nf(a);"),
                         ["directive", "using", "type", "function", "variable", "statement"])

    def test_templates_and_inline_functions_are_repeated_whole(self):
        self.assertEqual(kinds("template <class T> T twice(T x) { return x + x; }\nauto one() { return 1; }\nint g(auto x) { return x; }\n"
                               "constexpr int k = 3;\nusing B = int;\nconcept C = true;"[:-19]), ["template"] * 4 + ["type"])

    def test_a_deduced_return_type_makes_a_function_inline(self):
        part, = split("auto one() { return 1; }")
        self.assertTrue(part.text.startswith("inline auto one()"), part.text)

    def test_a_trailing_return_type_does_not(self):
        part, = split("auto one() -> int { return 1; }")
        self.assertEqual((part.kind, part.declared), ("function", "auto one() -> int;"))

    def test_functions_have_a_declaration_with_defaults(self):
        part, = split("static Array f(Array x, double rate = 0.5) {\n  return x;\n}")
        self.assertEqual(part.declared.split(), "Array f(Array x, double rate = 0.5);".split())
        self.assertEqual(part.names, ("f",))

    def test_control_flow_is_a_statement(self):
        for text in ("for (int i = 0; i < 3; ++i) f(i);", "while (go()) {}", "if (a) b();", "{ int x = 1; }", "do { f(); } while (g());",
                     "try { f(); } catch (...) {}", "switch (k) { case 1: f(); }", "throw 3;", "std::cout << 1;", "x += 2;", "++x;"):
            self.assertEqual(kinds(text), ["statement"], text)

    def test_members_defined_outside_and_specialisations(self):
        self.assertEqual(kinds("int A::f() const { return 1; }\ntemplate <> struct std::hash<A> { int x; };"), ["member", "special"])

    def test_two_declarators_are_one_part(self):
        part, = split("float a = 1, b = 2;")
        self.assertEqual(part.names, ("a", "b"))
        self.assertEqual(part.variable.members, "float a = 1;\nfloat b = 2;")
        self.assertEqual(part.variable.bare_members, "float a; float b;")

    def test_initialisers_of_members(self):
        for text, member in (("T x(1, 2);", "T x = T(1, 2);"), ("T x{1};", "T x {1};"), ("T x = {1, 2};", "T x = {1, 2};"), ("T x;", "T x;"),
                             ("const T x = f();", "const T x = f();"), ("static T x = f();", "T x = f();"), ("int v[2] = {1, 2};", "int v[2] = {1, 2};")):
            part, = split(text)
            self.assertEqual(part.variable.members, member)

    def test_a_variable_of_a_variable_is_no_prototype(self):
        part, = split("Array x(y);", {"y"})
        self.assertEqual((part.kind, part.variable.members), ("variable", "Array x = Array(y);"))
        self.assertEqual(kinds("Array x(Y);"), ["template"])

    def test_deduced_types(self):
        part, = split("auto x = f(1);")
        self.assertEqual((part.variable.form, part.variable.value.strip()), ("auto", "f(1)"))
        part, = split("auto [a, b] = f();")
        self.assertEqual((part.variable.form, part.names), ("binding", ("a", "b")))
        part, = split("const auto& r = s.x;")
        self.assertEqual((part.variable.form, part.variable.const), ("reference", True))
        part, = split("std::pair p(1, 2);")
        self.assertEqual((part.variable.form, part.variable.value), ("auto", "std::pair(1, 2)"))


class Display(unittest.TestCase):
    def test_an_expression_without_semicolon_is_last(self):
        for text in ("x", "f(x)", "x + 1", "a; b", "x // text", "x\n\n", "ts::sum(x)\n// end\n", "A{1, 2}", "f([] { return 1; })", "x[0]", "-x"):
            self.assertTrue(split(text)[-1].last, text)

    def test_with_a_semicolon_it_is_not(self):
        for text in ("x;", "f(x); // text", "int x = 3;", "if (x) f();", "struct A {};", "int f() { return 1; }"):
            self.assertFalse(any(p.last for p in split(text)), text)

    def test_the_text_has_no_semicolon(self):
        self.assertEqual(split("x // text")[-1].text.split()[0], "x")


class Texts(unittest.TestCase):
    def test_lines_and_columns_are_kept(self):
        parts = split("int a = 1;\n\n   f(a);")
        self.assertEqual((parts[1].line, parts[1].text), (3, "   f(a);"))

    def test_loops_test_for_interrupts(self):
        check = "::tessera_notebook::check();"
        for text in ("while (true) {}", "for (;;) {\n}", "for (auto x : v) f(x);", "do { f(); } while (x);", "int f() { while (g()) h(); return 1; }",
                     "auto g = [] { for (;;) {} };", "while (true);"):
            part, = split(text)
            self.assertIn(check.rstrip(";"), part.text if part.variable is None else part.variable.value, text)
        self.assertNotIn(check, split("constexpr int f() { for (;;) {} return 1; }")[0].text)

    def test_the_text_with_tests_still_parses(self):
        for text in ("for (auto x : v) f(x);", "for (;;) for (;;) g();", "while (a) if (b) c(); else d();", "do f(); while (x);"):
            part, = split(text)
            self.assertFalse(unreadable(part.text), part.text)

    def test_captures_are_initialised(self):
        self.assertEqual(split("auto f = [adam, &x] { return 1; };")[0].variable.value.strip(), "[adam = adam, &x = x] { return 1; }")
        self.assertEqual(split("auto f = [n = 3, &, this] { return 1; };")[0].variable.value.strip(), "[n = 3, &, this] { return 1; }")

    def test_words(self):
        self.assertEqual(words('f(x, "y z"); // w\n /* v */ u'), {"f", "x", "u"})


class Refused(unittest.TestCase):
    def refused(self, text, line, part):
        with self.assertRaises(NotSupported) as caught:
            split(text)
        self.assertEqual(caught.exception.line, line)
        self.assertIn(part, str(caught.exception))

    def test_texts(self):
        self.refused("int a;\nthread_local int x = 1;", 2, "thread_local")
        self.refused("struct A { int x; } a;", 1, "Define the class first")
        self.refused("namespace n {\nint x = 3;\n}", 2, "inside a namespace")
        self.refused("auto& [a, b] = f();", 1, "which copies")
        self.refused("auto a = 1, b = 2;", 1, "of its own")

    def test_unreadable_text_is_noticed(self):
        self.assertTrue(unreadable("int x = ;"))
        self.assertTrue(unreadable("f(x"))
        self.assertTrue(unreadable("}"))
        self.assertTrue(unreadable("} void f() {"))
        self.assertFalse(unreadable("ts::pmap([](Array x) { return x; }, {.axis_name = \"i\", .in_axes = {0, ts::replicated}});"))


unittest.main()
