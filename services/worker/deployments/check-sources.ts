/**
 * A program in Python that finds the files of the project in its working directory that are not
 * valid Python, before anything is installed. What no file of the project imports, such as a
 * template, may be what it likes. It has no single quotes: shells get it between two of them.
 */
export const CHECK_SOURCES = `import ast, os, re, sys
SKIPPED = {"node_modules", "__pycache__", "venv", "env", "build", "dist", "test", "tests"}
used, broken, seen = set(), [], 0
for folder, folders, files in os.walk("."):
    folders[:] = sorted(each for each in folders if each not in SKIPPED and each[0] != ".")
    for name in sorted(files):
        path = os.path.relpath(os.path.join(folder, name))
        if path == "pyproject.toml":
            used.update(re.findall(r"\\w+", open(path, errors="replace").read()))
        seen += name.endswith(".py")
        if not name.endswith(".py") or seen > 5000:
            continue
        text = open(path, "rb").read()
        module = os.path.splitext(path)[0].split(os.sep)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            where = f"{path}, line {line}" if line else path
            said = f"{where} is not valid Python: {error.args[0]}. Correct it, and deploy again."
            broken.append((module[-2:], b"CrewBase" in text or b"Flow" in text, said))
            continue
        except (RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                used.update((node.module or "").split("."))
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                used.update(part for each in node.names for part in each.name.split("."))
for module, is_crew, said in broken:
    if is_crew or module[-1] in used or (module[-1] == "__init__" and module[0] in used):
        sys.exit(said)
`
