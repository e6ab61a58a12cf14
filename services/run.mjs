// Runs a program of this repository from its TypeScript sources: `node services/run.mjs FILE
// [arguments]`. Plain JavaScript of some years ago, so that an older Node can still say what it
// needs.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

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

// The program sees its own arguments, as if Node had been given its file.
process.argv.splice(1, 1)
await import('tsx').catch(() => refuse('The packages are not installed. Run `npm ci` first.'))
await import(pathToFileURL(process.argv[1]).href)
