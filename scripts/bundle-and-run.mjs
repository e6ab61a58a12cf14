// Runs a TypeScript program of this repository as one bundle: `node scripts/bundle-and-run.mjs FILE
// [arguments]`. A program that starts often and ends soon begins in a fraction of the time that tsx
// takes for it: its packages are in the bundle, it is bundled only after a change of its sources,
// and V8 reads what it compiled the last time. It is CommonJS, because cdk8s is.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { constants, Script } from 'node:vm'

const [file] = process.argv.splice(2, 1)
const bundle = resolve('node_modules/.cache/bundles', file.replace(/\.ts$/, '.cjs'))
/** The paths of what is in the bundle. */
const list = `${bundle}.json`
/** Whatever is in a bundle changes one of these, or a source of its own. */
const COMMON = ['node_modules/.package-lock.json', 'scripts/bundle-and-run.mjs']

const OPTIONS = [
  '--bundle',
  // A package that starts a program of its own, which it finds beside itself.
  '--external:esbuild',
  '--platform=node',
  '--format=cjs',
  '--log-level=warning',
  '--define:import.meta.url=bundleUrl',
  "--banner:js=const bundleUrl = require('node:url').pathToFileURL(__filename).href",
]

const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs
const isNew = () => {
  const made = changedAt(bundle)
  if (made === undefined || changedAt(list) === undefined) return false
  const sources = [...COMMON, ...JSON.parse(readFileSync(list, 'utf8'))]
  return sources.every((path) => changedAt(path) < made)
}

/** Writes a file at once: several programs may do so at the same time. */
function write(path, content) {
  writeFileSync(`${path}.${process.pid}`, content)
  renameSync(`${path}.${process.pid}`, path)
}

function build() {
  const [fresh, meta] = [`${bundle}.${process.pid}`, `${bundle}.${process.pid}.json`]
  mkdirSync(dirname(bundle), { recursive: true })
  const options = [...OPTIONS, `--metafile=${meta}`, `--outfile=${fresh}`]
  try {
    execFileSync('node_modules/.bin/esbuild', [file, ...options], { stdio: 'inherit' })
    const inputs = Object.keys(JSON.parse(readFileSync(meta, 'utf8')).inputs)
    const own = inputs.filter((path) => !path.startsWith('node_modules/'))
    write(list, JSON.stringify(own))
    renameSync(fresh, bundle)
  } finally {
    rmSync(meta, { force: true })
  }
}

/** Runs the bundle as Node runs a file of CommonJS, with what V8 made of it the last time. */
function run() {
  const code = readFileSync(bundle, 'utf8')
  // V8 compares nothing but the length of a source, so the name says which one it was.
  const compiled = `${bundle}.${process.version}-${changedAt(bundle)}`
  const known = changedAt(compiled) === undefined ? undefined : readFileSync(compiled)
  const script = new Script(
    `(function (exports, require, module, __filename, __dirname) {${code}\n})`,
    {
      filename: bundle,
      cachedData: known,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    },
  )
  if (known === undefined || script.cachedDataRejected) {
    // Functions are compiled when they are called first, so most of them are at the end.
    process.once('exit', () => keep(compiled, script.createCachedData()))
  }
  const module = { exports: {} }
  const start = script.runInThisContext()
  start(module.exports, createRequire(bundle), module, bundle, dirname(bundle))
}

/** Keeps what V8 compiled, instead of what it compiled of former bundles. */
function keep(compiled, content) {
  const former = readdirSync(dirname(compiled)).filter(
    (name) => name.startsWith(`${basename(bundle)}.v`) && name !== basename(compiled),
  )
  for (const name of former) rmSync(join(dirname(compiled), name), { force: true })
  write(compiled, content)
}

try {
  if (!isNew()) build()
  // The program sees its own arguments, as if Node had been given its file.
  process.argv[1] = bundle
  run()
} catch (thrown) {
  // esbuild has said itself what is wrong.
  if (thrown.status === undefined) throw thrown
  process.exitCode = thrown.status
}
