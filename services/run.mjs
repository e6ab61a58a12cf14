// Runs a program of this repository from its TypeScript sources: `node services/run.mjs FILE
// [arguments]`. Plain JavaScript of some years ago, so that an older Node can still say what it
// needs.
import { existsSync, readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const needed = manifest.engines.node.replace('>=', '')

function isOlder(version, other) {
  const [a, b] = [version, other].map((text) => text.split('.').map(Number))
  const difference = a.map((part, index) => part - b[index]).find((part) => part !== 0)
  return difference !== undefined && difference < 0
}

function refuse(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

if (isOlder(process.versions.node, needed)) {
  refuse(
    `This needs Node.js ${needed} or newer; this is Node.js ${process.versions.node}. ` +
      'Install a newer Node.js, then run `npm ci` again.',
  )
}

if (!existsSync(new URL('../node_modules/esbuild', import.meta.url))) {
  refuse('The packages are not installed. Run `npm ci` first.')
}
await import('../scripts/bundle-and-run.cjs')
