"""The kernel as a front end sees it: what cells answer, over Jupyter's protocol."""
import base64
import re
import time
import unittest

from jupyter_client.manager import start_new_kernel


class Answer:
    """What one cell gave."""

    def __init__(self):
        self.printed = {"stdout": "", "stderr": ""}
        self.shown, self.error, self.order = [], None, []

    @property
    def result(self):
        return self.shown[-1]["text/plain"] if self.shown else None


class Kernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.manager, cls.client = start_new_kernel(kernel_name="tessera")
        cls.cells = 0

    @classmethod
    def tearDownClass(cls):
        cls.client.stop_channels()
        cls.manager.shutdown_kernel(now=True)

    def begin(self, text):
        type(self).cells += 1
        return self.client.execute(text)

    def answer(self, request, seen=None):
        """Collects the messages of a request until the kernel is idle. `seen(answer)` is called after each."""
        answer = Answer()
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            kind = message["msg_type"]
            if kind == "stream":
                answer.printed[content["name"]] += content["text"]
                answer.order.append(content["text"])
            elif kind in ("execute_result", "display_data"):
                answer.shown.append(content["data"])
                answer.order.append(kind)
            elif kind == "error":
                answer.error = content
            elif kind == "status" and content["execution_state"] == "idle":
                return answer
            if seen is not None:
                seen(answer)

    def run_cell(self, text):
        return self.answer(self.begin(text))

    def ok(self, text):
        answer = self.run_cell(text)
        self.assertIsNone(answer.error, answer.error and "\n".join(answer.error["traceback"]))
        return answer

    def fails(self, text, name, *parts):
        answer = self.run_cell(text)
        self.assertIsNotNone(answer.error, answer.printed)
        self.assertEqual(answer.error["ename"], name, answer.error)
        for part in parts:
            self.assertIn(part, answer.error["traceback"][0])
        return answer


class Values(Kernel):
    def test_arrays_print_as_arrays(self):
        self.assertEqual(self.ok("Array v = ts::arange(4.0);\nv * 2").result, "[0. 2. 4. 6.]")
        self.assertEqual(self.ok("ts::sum(v)").result, "6.0")

    def test_values_of_cpp(self):
        for text, shown in (("1 + 1", "2"), ("true", "true"), ('"text"', "text"), ("std::vector<int>{1, 2}", "{1, 2}"), ("std::pair(1, 2.5)", "(1, 2.5)"),
                            ("std::optional<int>()", "nullopt"), ("std::map<std::string, int>{{\"a\", 1}}", '{("a", 1)}'),
                            ("std::tuple(1, true)", "(1, true)")):
            self.assertEqual(self.ok(text).result, shown, text)

    def test_statements_show_nothing(self):
        for text in ("int quiet = 3;", "quiet;", "std::cout << 1", "for (int i = 0; i < 2; ++i) quiet += i;"):
            self.assertEqual(self.ok(text).shown, [], text)

    def test_structs_show_their_leaves(self):
        self.ok("struct Shown { Array w, b; };")
        self.assertEqual(self.ok("Shown{ts::zeros({2, 3}), ts::zeros({3})}").result, "Shown\n  w  float32(2, 3)\n  b  float32(3,)")

    def test_variables_of_all_forms(self):
        self.ok("struct P { int a, b; };\nconst int c = 3;\nfloat f1 = 1, f2 = 2;\nint v[3] = {1, 2, 3};\nstd::vector<int> w(3, 7);\nP p{4, 5};\n"
                "auto [x1, x2] = std::pair(10, 20);\nauto [y1, y2] = P{30, 40};\nauto lambda = [](int k) { return k + c; };\nstd::string s = \"abc\";\n"
                "int (*pointer)(int) = nullptr;\nstd::pair deduced(1, 2.5);\nconstexpr int k = 4;\nunsigned long long big = 1ull << 40;")
        self.assertEqual(self.ok("std::tuple(c, f2, v[2], w[2], p.b, x2, y2, lambda(1), s, pointer == nullptr, deduced.second, k, big)").result,
                         '(3, 2, 3, 7, 5, 20, 40, 4, "abc", true, 2.5, 4, 1099511627776)')

    def test_values_with_two_readings(self):
        self.ok("Array p = ts::arange(3.0), q = ts::ones({3});")
        self.assertEqual(self.ok("p * q").result, "[0. 1. 2.]")
        self.ok("template <class T> struct Box { T value; };\nBox b1{4.5};\nBox b2(b1);\nArray copy(p);\nstd::vector<decltype(p)> both{p, q};")
        self.assertEqual(self.ok("std::tuple(b2.value, copy, both.size())").result, "(4.5, [0. 1. 2.], 2)")
        self.ok("class Late {\n public:\n  explicit Late(int);\n  static int made;\n  int x;\n};\nint Late::made = 4;\nLate::Late(int k) : x(k) {}")
        self.assertEqual(self.ok("std::pair(Late(3).x, Late::made)").result, "(3, 4)")
        self.ok("auto local = [] {\n  struct Local { int v; };\n  return Local{7};\n}();")
        self.assertEqual(self.ok("local.v").result, "7")

    def test_references_refer(self):
        self.ok("std::vector<int> target{1, 2};\nauto& first = target[0];\nfirst = 9;\nconst auto& of_value = std::string(\"lives\");")
        self.assertEqual(self.ok("target").result, "{9, 2}")
        self.ok("first = 5;")
        self.assertEqual(self.ok("std::pair(target[0], of_value)").result, '(5, "lives")')

    def test_order_within_a_cell(self):
        self.assertEqual(self.ok("int o = 1;\no += 1;\nint o2 = o * 10;\no2").result, "20")

    def test_output_streams_while_the_cell_runs(self):
        arrived = []
        request = self.begin("std::printf(\"first\\n\");\nstd::this_thread::sleep_for(std::chrono::seconds(1));\nstd::cerr << \"second\\n\";")
        answer = self.answer(request, lambda a: arrived.append((time.monotonic(), bool(a.printed["stderr"]))) if a.order else None)
        self.assertEqual(answer.printed, {"stdout": "first\n", "stderr": "second\n"})
        self.assertGreater(next(t for t, second in arrived if second) - arrived[0][0], 0.5)

    def test_output_and_pictures_keep_their_order(self):
        answer = self.ok('std::cout << "a\\n";\nnb::display(nb::svg("<svg/>"));\nstd::cout << "b\\n";\n1')
        self.assertEqual([o.strip() for o in answer.order], ["a", "display_data", "b", "execute_result"])


class Definitions(Kernel):
    def test_a_variable_is_defined_anew(self):
        self.ok("int again = 1;")
        self.ok('std::string again = "text";')
        self.assertEqual(self.ok("again").result, "text")
        self.ok("auto again = ts::ones({2});")
        self.assertEqual(self.ok("again").result, "[1. 1.]")

    def test_a_value_may_use_the_earlier_variable(self):
        self.ok("Array grown = ts::ones({2});\nauto deduced = 3;\nstd::vector<int> list{1};")
        self.ok("Array grown = grown + 1;\nauto deduced = std::to_string(deduced) + \"!\";")
        self.assertEqual(self.ok("std::pair(deduced, grown)").result, '("3!", [2. 2.])')
        self.assertEqual(self.ok("std::cout << list.size();\nstd::vector<int> list{1, 2, 3};\nlist.size()").printed["stdout"], "1")
        self.assertEqual(self.ok("list").result, "{1, 2, 3}")

    def test_a_function_is_defined_anew(self):
        self.ok("struct M { int x; };\nint value(const M& m) { return m.x; }\nint twice(const M& m) { return 2 * value(m); }")
        self.assertEqual(self.ok("twice(M{3})").result, "6")
        self.ok("int value(const M& m) { return m.x + 100; }")
        self.assertEqual(self.ok("value(M{3})").result, "103")

    def test_overloads_of_one_cell_stay_together(self):
        self.ok("int kind(int) { return 1; }\nint kind(double) { return 2; }")
        self.assertEqual(self.ok("std::pair(kind(1), kind(1.0))").result, "(1, 2)")
        self.ok("int kind(int, int = 0) { return 3; }")
        self.assertEqual(self.ok("std::pair(kind(1), kind(1.0))").result, "(3, 3)")

    def test_a_type_is_defined_anew(self):
        self.ok("struct Model { int a; };\nint read(const Model& m) { return m.a; }")
        self.ok("struct Model { double b; };")
        self.assertEqual(self.ok("Model{2.5}.b").result, "2.5")
        self.fails("read(Model{1.0})", "StaleName", "`read` was defined in cell", "Run cell")

    def test_templates_includes_macros_operators(self):
        self.ok("#include <set>\n#define THREE 3\ntemplate <class T>\nT triple(T x) { return x * THREE; }\nstruct V { int x; };\n"
                "V operator+(V a, V b) { return {a.x + b.x}; }\nstd::ostream& operator<<(std::ostream& out, V v) { return out << \"V\" << v.x; }")
        self.assertEqual(self.ok("triple(2.5)").result, "7.5")
        self.assertEqual(self.ok("std::set<int>{2, 1, 2}.size()").result, "2")
        self.assertEqual(self.ok("V{1} + V{2}").result, "V3")
        self.ok("template <> struct std::hash<V> { std::size_t operator()(V v) const { return std::size_t(v.x); } };")
        self.assertEqual(self.ok("std::hash<V>()(V{7})").result, "7")

    def test_namespaces_and_using(self):
        self.ok("namespace mine {\nstruct S {\n  int x;\n};\nint f(S s) { return s.x; }\n}")
        self.ok("using namespace mine;\nusing std::max;\nnamespace other = mine;\nusing T = mine::S;")
        self.assertEqual(self.ok("max(f(S{3}), other::f(T{4}))").result, "4")
        self.ok("#define LIMIT 3")
        self.assertEqual(self.ok("#define LIMIT 4\nLIMIT").printed["stderr"], "")
        self.assertEqual(self.ok("LIMIT").result, "4")

    def test_members_outside_of_their_class(self):
        self.ok("struct Outside { int x; int f() const; };")
        self.ok("int Outside::f() const { return x + 1; }")
        self.assertEqual(self.ok("Outside{4}.f()").result, "5")

    def test_a_cell_that_fails_leaves_what_it_defined_before(self):
        self.fails('int kept = 5;\nthrow std::runtime_error("in between");\nint lost = 6;', "std::runtime_error", "in between")
        self.assertEqual(self.ok("kept").result, "5")
        self.fails("lost", "CompileError", "lost")

    def test_names_of_the_c_library_are_free(self):
        self.ok("double y1 = 2;\nint index = 3;\ndouble time = 4;")
        self.assertEqual(self.ok("y1 + index + time").result, "9")


class Errors(Kernel):
    def test_our_text(self):
        answer = self.fails("ts::dot(ts::ones({2, 3}), ts::ones({4, 5}));", "tessera::ShapeError", "(2, 3)", "(4, 5)")
        self.assertIn(f"cell {self.cells}:1", answer.error["traceback"][0])

    def test_the_line_of_a_call_in_an_earlier_cell(self):
        self.ok("\n\nArray wrong(Array x) {\n  return ts::dot(x, ts::ones({7}));\n}")
        cell = self.cells
        answer = self.fails("wrong(ts::ones({3}));", "tessera::ShapeError")
        self.assertIn(f"cell {cell}:4", answer.error["traceback"][0])

    def test_the_compiler_names_the_line(self):
        answer = self.fails("int fine = 1;\nint bad = no_such_name;", "CompileError", "no_such_name")
        self.assertRegex(answer.error["traceback"][0], rf"cell {self.cells}:2:11: error")
        self.assertIn("int bad = no_such_name;", answer.error["traceback"][0])
        self.fails("fine", "CompileError", "fine")

    def test_text_that_is_no_cpp(self):
        self.fails("int x = ;", "CompileError", "cell")
        self.fails("f(", "CompileError", "at its end")

    def test_a_template_names_the_line_that_uses_it(self):
        self.fails("\nstd::vector<int&> v;", "CompileError", f"cell {self.cells + 1}, line 2, leads to this error")

    def test_text_that_only_the_compiler_can_read(self):
        answer = self.ok("#define RUN(x) do { x; } while (0)\nRUN(int inside = 3; std::cout << inside);")
        self.assertEqual(answer.printed["stdout"], "3")
        self.assertIn("cannot read this cell", answer.printed["stderr"])
        self.fails("inside", "CompileError", "inside")
        self.assertEqual(self.ok("int done = 0;\nRUN(done = 4);\ndone").result, "4")

    def test_what_a_cell_may_not_hold(self):
        self.fails("1;\nthread_local int x = 1;", "NotSupported", "line 2", "inside of a function")

    def test_other_exceptions(self):
        self.fails('throw std::out_of_range("far");', "std::out_of_range", "far")
        self.fails("throw 3;", "int", "no text")
        self.fails('throw std::string("as a text");', "std::string", "as a text")
        self.fails("struct Named {};\nthrow Named{};", "Named", "no text")

    def test_a_function_without_a_definition(self):
        self.fails("int nowhere(int);\nnowhere(1)", "LoadError", "nowhere(int)")

    def test_exceptions_across_cells(self):
        self.ok('struct Own { int x; };\nvoid thrower() { throw Own{5}; }')
        self.assertEqual(self.ok("int caught = 0;\ntry {\n  thrower();\n} catch (const Own& o) {\n  caught = o.x;\n}\ncaught").result, "5")


class Stopped(Kernel):
    def interrupted(self, text, when):
        request = self.begin(text)
        sent = []

        def seen(answer):
            if when in answer.printed["stdout"] and not sent:
                sent.append(True)
                self.manager.interrupt_kernel()
        return self.answer(request, seen)

    def test_an_endless_loop(self):
        self.ok("int counted = 7;")
        answer = self.interrupted('std::cout << "go" << std::endl;\nwhile (true) {}', "go")
        self.assertEqual(answer.error["ename"], "Interrupted")
        self.assertEqual(self.ok("counted").result, "7")

    def test_a_loop_in_a_function_that_is_traced(self):
        answer = self.interrupted('auto endless = ts::jit([](Array x) {\n  std::cout << "tracing" << std::endl;\n  for (;;) x = x + 1.0;\n  return x;\n});\n'
                                  "endless(ts::ones({2}))", "tracing")
        self.assertEqual(answer.error["ename"], "Interrupted")
        self.assertEqual(self.ok("ts::jit([](Array x) { return x + 1; })(ts::ones({2}))").result, "[2. 2.]")

    def test_a_call_that_does_not_stop(self):
        request = self.begin('std::cout << "in the call" << std::endl;\nstd::this_thread::sleep_for(std::chrono::hours(1));')
        sent = []

        def seen(answer):
            # Once when the call has begun, and again when the kernel says that this did not help.
            if len(sent) < 1 and answer.printed["stdout"] or len(sent) == 1 and "Interrupt once more" in answer.printed["stderr"]:
                sent.append(True)
                self.manager.interrupt_kernel()
        answer = self.answer(request, seen)
        self.assertEqual((len(sent), answer.error["ename"]), (2, "Interrupted"))
        self.assertIn("gone", answer.error["traceback"][0])
        self.assertEqual(self.ok("1 + 1").result, "2")

    def test_a_crash(self):
        self.ok("int before_crash = 1;")
        self.fails("int* nowhere = nullptr;\n*nowhere = 1;", "Crashed", "SIGSEGV", "variables, functions and types are gone")
        self.fails("before_crash", "CompileError", "before_crash")
        self.assertEqual(self.ok("ts::ones({2})").result, "[1. 1.]")

    def test_an_end_between_cells(self):
        # The thread ends the process when the cell that started it has ended.
        self.ok("std::thread([] {\n  std::this_thread::sleep_for(std::chrono::milliseconds(300));\n  std::quick_exit(5);\n}).detach();")
        answer = None
        for _ in range(50):
            answer = self.run_cell("0;")
            if answer.error:
                break
        self.assertEqual(answer.error["ename"], "Crashed")
        self.assertIn("exit code 5", answer.error["traceback"][0])

    def test_an_abort_and_an_exit(self):
        self.fails("std::abort();", "Crashed", "SIGABRT")
        self.fails("std::exit(3);", "Crashed", "exit code 3")


class Pictures(Kernel):
    def test_a_plot(self):
        shown = self.ok('nb::plot(std::vector<double>{1, 10, 100}, {.title = "T", .log_y = true})').shown[0]
        self.assertTrue(shown["image/svg+xml"].startswith("<svg"))
        self.assertIn(">T</text>", shown["image/svg+xml"])
        # Three points on a straight line in this scale: equal steps in x and in y.
        path = re.search(r'd="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"', shown["image/svg+xml"])
        x = [float(path[k]) for k in (1, 3, 5)]
        y = [float(path[k]) for k in (2, 4, 6)]
        self.assertAlmostEqual(x[1] - x[0], x[2] - x[1], delta=0.11)
        self.assertAlmostEqual(y[1] - y[0], y[2] - y[1], delta=0.11)

    def test_a_sharding(self):
        self.ok("ts::set_device_count(8);\nArray rows = ts::pmap([](Array x) { return x; })(ts::ones({8, 2}));")
        self.assertIn("image/svg+xml", self.ok("nb::sharding(rows)").shown[0])
        self.assertIn("image/svg+xml", self.ok("ts::sharding_svg(rows.shape(), rows.sharding())").shown[0])
        self.assertNotIn("image/svg+xml", self.ok("ts::visualize_sharding(rows)").shown[0])

    def test_a_plan(self):
        shown = self.ok("ts::jit([](Array x) { return x + 1; }).lower(ts::ones({4})).plan()").shown[0]
        self.assertIn("srcdoc=", shown["text/html"])
        self.assertNotIn("<iframe", shown["text/plain"])

    def test_an_image(self):
        shown = self.ok("nb::image(ts::array({{0.0, 1.0}, {0.5, 0.25}}), 1)").shown[0]
        data = base64.b64decode(shown["image/png"])
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(pixels(data), (2, 2, [0, 255, 128, 64]))


class Transformations(Kernel):
    def test_jit_grad_and_pmap_across_cells(self):
        self.ok("ts::set_device_count(8);")
        self.ok("struct Net { Array w; int power = 2; };")
        self.ok("Array loss(const Net& m, Array x) { return ts::sum(ts::power(m.w * x, m.power)); }")
        self.ok("auto gradient = ts::jit(ts::grad(loss));")
        self.ok("Net net{ts::array({1.0, 2.0})};")
        self.assertEqual(self.ok("gradient(net, ts::array({3.0, 1.0})).w").result, "[18.  4.]")
        self.ok("auto mapped = ts::pmap([](Net m, Array x) { return ts::psum(loss(m, x), \"d\"); }, {.axis_name = \"d\", .in_axes = {ts::replicated, 0}});")
        self.assertEqual(self.ok("mapped(net, ts::ones({8, 2}))").result, "[40. 40. 40. 40. 40. 40. 40. 40.]")
        self.assertEqual(self.ok("gradient.trace_count()").result, "1")

    def test_a_compiled_program_is_found_again_in_the_next_cell(self):
        self.ok("auto traced = ts::jit([](Array x) {\n  std::cout << \"traced\\n\";\n  return x * 2;\n});")
        self.assertEqual(self.ok("traced(ts::ones({2}))").printed["stdout"], "traced\n")
        answer = self.ok("traced(ts::ones({2}))")
        self.assertEqual((answer.printed["stdout"], answer.result), ("", "[2. 2.]"))


def pixels(data):
    """The width, height and grey values of a PNG file without filters."""
    import struct
    import zlib
    at, packed, size = 8, b"", None
    while at < len(data):
        length, = struct.unpack(">I", data[at:at + 4])
        kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + length]
        crc, = struct.unpack(">I", data[at + 8 + length:at + 12 + length])
        assert crc == zlib.crc32(kind + body)
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    raw = zlib.decompress(packed)
    width, height = size
    return width, height, [v for r in range(height) for v in raw[r * (width + 1) + 1:(r + 1) * (width + 1)]]


if __name__ == "__main__":
    unittest.main()
