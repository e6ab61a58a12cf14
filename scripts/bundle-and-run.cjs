// Runs a TypeScript program of this repository as one bundle: `node scripts/bundle-and-run.cjs FILE
// [arguments]`. A program that starts often and ends soon begins in a fraction of the time that tsx
// takes for it: its packages are in the bundle, it is bundled only after a change of its sources,
// and V8 reads what it compiled the last time. The bundle is CommonJS, because cdk8s is, and so
// is this file, which then starts without Node's loader of modules.
const { isAscii } = require('node:buffer')
const fs = require('node:fs')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const { Script } = require('node:vm')

const root = path.dirname(__dirname)
const file = path.resolve(process.argv.splice(2, 1)[0])
const name = path.relative(root, file)
const bundle = path.join(bundlesFolder(), name.replace(/\.ts$/, '.cjs'))
/** The paths of what is in the bundle. */
const list = `${bundle}.json`
/** Whatever is in a bundle changes one of these, or a source of its own. */
const COMMON = ['node_modules/.package-lock.json', 'scripts/bundle-and-run.cjs']
/** A program that runs for so long has started. */
const STARTED_MS = 10_000

/** Beside the packages, or in the user's own cache where those belong to another user. */
function bundlesFolder() {
  const [packages, cache] = ['node_modules', 'node_modules/.cache'].map((name) =>
    path.join(root, name),
  )
  if (isWritable(cache) ?? isWritable(packages)) return path.join(cache, 'bundles')
  const { createHash } = require('node:crypto')
  const own = process.env.XDG_CACHE_HOME || path.join(require('node:os').homedir(), '.cache')
  const checkout = createHash('sha256').update(root).digest('hex').slice(0, 12)
  return path.join(own, 'crew-platform/bundles', checkout)
}

function isWritable(folder) {
  if (!fs.existsSync(folder)) return undefined
  try {
    fs.accessSync(folder, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** A module finds the files beside its source, wherever the bundle is. */
const sourceUrls = {
  name: 'source-urls',
  setup: (build) =>
    build.onLoad({ filter: /\/(infra|scripts|services|test)\/[^.]+\.ts$/ }, ({ path: module }) => {
      const source = fs.readFileSync(module, 'utf8')
      if (!source.includes('import.meta.url')) return undefined
      const url = JSON.stringify(pathToFileURL(module).href)
      // Not within a text.
      const contents = source.replace(/"[^"\n]*"|import\.meta\.url/g, (found) =>
        found.startsWith('"') ? found : url,
      )
      return { contents, loader: 'ts' }
    }),
}

/**
 * Leaves out of cdk8s what the chart does not use: its YAML and JSON patches, charts of others, and
 * most kinds of Kubernetes. Being CommonJS, all of it would be bundled, loaded, and kept by V8.
 */
const smallCdk8s = {
  name: 'small-cdk8s',
  setup: (build) => {
    const unused = /\/cdk8s\/lib\/(helm|include|json-patch|testing|yaml)\.js$/
    build.onLoad({ filter: unused }, () => ({ contents: '' }))
    const kinds = /\/cdk8s-plus-\d+\/lib\/imports\/k8s\.js$/
    build.onLoad({ filter: kinds }, ({ path: module }) => ({
      contents: toModule(fs.readFileSync(module, 'utf8')),
    }))
  },
}

/** The kinds of Kubernetes as an ES module, which make JSON of their fields without a copy for each. */
function toModule(kinds) {
  const names = [...kinds.matchAll(/^exports\.(\w+) = \1;$/gm)].map(([, name]) => name)
  const code = kinds
    .replace('const cdk8s_1 = require("cdk8s");', 'import * as cdk8s_1 from "cdk8s";')
    .replace(/^(exports\.|Object\.|\/\/# sourceMappingURL| +static \[JSII_RTTI_SYMBOL_1\]).*/gm, '')
    .replaceAll(/\(exports\.\w+ = /g, '(')
    .replace(
      /^( +return .* \? r : )\(\{ \.\.\.r, \[i\[0\]\]: i\[1\] \}\)/gm,
      '$1((r[i[0]] = i[1]), r)',
    )
  return `${code}export { ${names.join(', ')} }`
}

const OPTIONS = {
  bundle: true,
  // Packages that start a program or load a file of their own, which they find beside themselves.
  external: ['esbuild', 'tsx'],
  platform: 'node',
  // Of an ES module only what is used is bundled.
  mainFields: ['module', 'main'],
  format: 'cjs',
  // What V8 has kept of a script cannot import on Node 20; it can require.
  supported: { 'dynamic-import': false },
  logLevel: 'warning',
  metafile: true,
  plugins: [sourceUrls, smallCdk8s],
  // That of a package, which is in the bundle with all it needs.
  define: { 'import.meta.url': 'bundleUrl' },
  banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href" },
}

const changedAt = (name) => fs.statSync(name, { throwIfNoEntry: false })?.mtimeMs
const isNew = () => {
  const made = changedAt(bundle)
  if (made === undefined || changedAt(list) === undefined) return false
  const sources = [...COMMON, ...JSON.parse(fs.readFileSync(list, 'utf8'))]
  return sources.every((source) => changedAt(path.join(root, source)) < made)
}

/** Writes a file at once: several programs may do so at the same time. */
function write(name, content) {
  fs.writeFileSync(`${name}.${process.pid}`, content)
  fs.renameSync(`${name}.${process.pid}`, name)
}

async function build() {
  // It takes a while to load, and is needed after a change only.
  const esbuild = require('esbuild')
  fs.mkdirSync(path.dirname(bundle), { recursive: true })
  const fresh = `${bundle}.${process.pid}`
  const files = { absWorkingDir: root, entryPoints: [file], outfile: fresh }
  const { metafile } = await esbuild.build({ ...OPTIONS, ...files })
  // Its program would run beside this one.
  await esbuild.stop()
  const inputs = Object.keys(metafile.inputs)
  write(list, JSON.stringify(inputs.filter((source) => !source.startsWith('node_modules/'))))
  fs.renameSync(fresh, bundle)
}

/** Runs the bundle as Node runs a file of CommonJS, with what V8 made of it the last time. */
function run() {
  const bytes = fs.readFileSync(bundle)
  // What esbuild writes is ASCII but for tagged templates; a text of single bytes is read sooner.
  const code = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
  // V8 compares nothing but the length of a source, so the name says which one it was.
  const compiled = `${bundle}.${process.version}-${changedAt(bundle)}`
  const known = changedAt(compiled) === undefined ? undefined : fs.readFileSync(compiled)
  const script = new Script(
    `(function (exports, require, module, __filename, __dirname) {${code}\n})`,
    { filename: bundle, cachedData: known },
  )
  if (known === undefined || script.cachedDataRejected) keepLater(compiled, script)
  const module = { exports: {} }
  const call = script.runInThisContext()
  // What is not in the bundle is a package, which this file finds where the program does.
  call(module.exports, require, module, bundle, path.dirname(bundle))
}

/**
 * Functions are compiled when they are called first, so most of them are at the end; a program that
 * keeps running loses those of its start after a while.
 */
function keepLater(compiled, script) {
  const keepNow = () => {
    process.off('exit', keepNow)
    keep(compiled, script.createCachedData())
  }
  process.once('exit', keepNow)
  setTimeout(keepNow, STARTED_MS).unref()
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

function start() {
  // The program sees its own arguments, as if Node had been given its file.
  process.argv[1] = bundle
  run()
}

if (isNew()) start()
else {
  build().then(start, (thrown) => {
    // esbuild has said itself what is wrong with a source.
    if (thrown.errors === undefined) throw thrown
    process.exitCode = 1
  })
}
