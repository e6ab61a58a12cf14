// Runs a TypeScript program of this repository as one bundle: `node scripts/bundle-and-run.cjs FILE
// [arguments]`. A program that starts often and ends soon begins in a fraction of the time that tsx
// takes for it: its packages are in the bundle, it is bundled only after a change of its sources,
// and V8 reads what it compiled the last time. The bundle is CommonJS, because cdk8s is, and so
// is this file, which then starts without Node's loader of modules.
const fs = require('node:fs')
const { createRequire } = require('node:module')
const path = require('node:path')
const { constants, Script } = require('node:vm')

const [file] = process.argv.splice(2, 1)
const bundle = path.resolve('node_modules/.cache/bundles', file.replace(/\.ts$/, '.cjs'))
/** The paths of what is in the bundle. */
const list = `${bundle}.json`
/** Whatever is in a bundle changes one of these, or a source of its own. */
const COMMON = ['node_modules/.package-lock.json', 'scripts/bundle-and-run.cjs']

const OPTIONS = [
  '--bundle',
  // Packages that start a program or load a file of their own, which they find beside themselves.
  '--external:esbuild',
  '--external:tsx',
  '--platform=node',
  '--format=cjs',
  '--log-level=warning',
  '--define:import.meta.url=bundleUrl',
  "--banner:js=const bundleUrl = require('node:url').pathToFileURL(__filename).href",
]

const changedAt = (name) => fs.statSync(name, { throwIfNoEntry: false })?.mtimeMs
const isNew = () => {
  const made = changedAt(bundle)
  if (made === undefined || changedAt(list) === undefined) return false
  const sources = [...COMMON, ...JSON.parse(fs.readFileSync(list, 'utf8'))]
  return sources.every((name) => changedAt(name) < made)
}

/** Writes a file at once: several programs may do so at the same time. */
function write(name, content) {
  fs.writeFileSync(`${name}.${process.pid}`, content)
  fs.renameSync(`${name}.${process.pid}`, name)
}

function build() {
  // It takes a while to load, and is needed after a change only.
  const { execFileSync } = require('node:child_process')
  const [fresh, meta] = [`${bundle}.${process.pid}`, `${bundle}.${process.pid}.json`]
  fs.mkdirSync(path.dirname(bundle), { recursive: true })
  const options = [...OPTIONS, `--metafile=${meta}`, `--outfile=${fresh}`]
  try {
    execFileSync('node_modules/.bin/esbuild', [file, ...options], { stdio: 'inherit' })
    const inputs = Object.keys(JSON.parse(fs.readFileSync(meta, 'utf8')).inputs)
    const own = inputs.filter((name) => !name.startsWith('node_modules/'))
    write(list, JSON.stringify(own))
    fs.renameSync(fresh, bundle)
  } finally {
    fs.rmSync(meta, { force: true })
  }
}

/** Runs the bundle as Node runs a file of CommonJS, with what V8 made of it the last time. */
function run() {
  // esbuild writes ASCII.
  const code = fs.readFileSync(bundle, 'latin1')
  // V8 compares nothing but the length of a source, so the name says which one it was.
  const compiled = `${bundle}.${process.version}-${changedAt(bundle)}`
  const known = changedAt(compiled) === undefined ? undefined : fs.readFileSync(compiled)
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
  start(module.exports, createRequire(bundle), module, bundle, path.dirname(bundle))
}

/** Keeps what V8 compiled, instead of what it compiled of former bundles. */
function keep(compiled, content) {
  const { dir, base } = path.parse(compiled)
  const former = fs
    .readdirSync(dir)
    .filter((name) => name.startsWith(`${path.basename(bundle)}.v`) && name !== base)
  for (const name of former) fs.rmSync(path.join(dir, name), { force: true })
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
