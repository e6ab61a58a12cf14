import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import {
  buildPythonPackage,
  readPythonPackage,
} from '../../../../services/shared/python-package/python-package.ts'

const folder = pathToFileURL('python/crew-runtime/')
const made = await readPythonPackage(folder)
const hasPython = spawnSync('python3', ['--version']).status === 0
if (!hasPython) console.log('No python3 on the PATH: it does not read the Python package.')

const CHECK = `
import base64, csv, hashlib, io, sys, tarfile, zipfile
wheel, source = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    assert archive.testzip() is None
    [record] = [name for name in archive.namelist() if name.endswith("/RECORD")]
    rows = list(csv.reader(io.TextIOWrapper(archive.open(record))))
    assert sorted(row[0] for row in rows) == sorted(archive.namelist())
    for path, digest, size in rows:
        content = archive.read(path)
        made = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        assert path == record or (digest, size) == (f"sha256={made}", str(len(content))), path
    modules = [name for name in archive.namelist() if name.endswith(".py")]
with tarfile.open(source) as archive:
    names = archive.getnames()
    assert all(any(name.endswith(f"/src/{module}") for name in names) for module in modules)
    print(archive.extractfile("crew_runtime-1.2.3/pyproject.toml").read().decode())
sys.path.insert(0, wheel)
import crew_runtime
print(crew_runtime.Context.__doc__)
`

describe('a Python package', () => {
  it('is read with what its pyproject.toml says', () => {
    expect(made).toMatchObject({ name: 'crew-runtime', requiresPython: '>=3.10' })
    expect(made.scripts).toEqual(['crew-runtime = crew_runtime.cli:main'])
    expect(made.modules.map(({ path }) => path)).toContain('crew_runtime/__main__.py')
  })

  it('is made of the same bytes each time', async () => {
    const digests = [made, await readPythonPackage(folder)].map((each) =>
      buildPythonPackage(each, '1.2.3').map(({ content }) =>
        createHash('sha256').update(content).digest('hex'),
      ),
    )
    expect(digests[0]).toEqual(digests[1])
  })

  it.skipIf(!hasPython)('is a wheel and a source archive that Python reads', async () => {
    const home = await mkdtemp(join(tmpdir(), 'package-'))
    const files = buildPythonPackage(made, '1.2.3').map(({ filename, content }) => ({
      path: join(home, filename),
      content,
    }))
    for (const { path, content } of files) await writeFile(path, content)
    const paths = files.map(({ path }) => path)
    const { stdout, stderr } = spawnSync('python3', ['-c', CHECK, ...paths], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(stdout).toContain('version = "1.2.3"')
    expect(stdout).toContain('The run that a function performs.')
  })
})
