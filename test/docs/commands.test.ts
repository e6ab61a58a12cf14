import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { usage } from '../../services/tasks/start.ts'
import { VERIFY_BUILDS_USAGE } from '../../services/worker/build-checks/verify-builds.ts'
import { bundledScript } from '../support/npm.ts'
import { commandsOf, optionsOf } from './commands.ts'
import type { Command } from './commands.ts'
import { DOCUMENTS, isWalk, readDocument, root, SHELL_BLOCKS } from './documents.ts'
import { isLong } from '../support/long.ts'

/** Programs of other people whose options the tests do not know: each with the reason. */
const TRUSTED: Readonly<Record<string, string>> = {
  'apt-get': 'installs packages of Debian',
  cat: 'copies a file',
  base64: 'decodes what kubectl prints',
  registry: 'is a program of the image of the registry',
  tar: 'packs a folder; what it makes is read in source-archive.test.ts',
  printf: 'prints what it is given',
  curl: 'asks a platform in a cluster; walks run the others',
  '.': 'reads the variables that a test has in its environment',
}

const helps = new Map<string, string | undefined>()

/** As npm sets it for a script. */
const env = { ...process.env, PATH: `${root}node_modules/.bin:${process.env['PATH']}` }

/** What a program says about its options; undefined where it is not installed. */
function helpOf(program: string, ...args: readonly string[]): string | undefined {
  const key = [program, ...args].join(' ')
  if (!helps.has(key)) {
    const { error, stdout } = spawnSync(program, args, { cwd: root, env, encoding: 'utf8' })
    helps.set(key, error ? undefined : stdout)
  }
  return helps.get(key)
}

/**
 * What a script of package.json says about its options; npm itself would only take its time. Those
 * that are compiled at each start are asked in the long form alone: `npm run test:long`.
 */
function helpOfScript(name: string, command = ''): string | undefined {
  const script = `${bundledScript(name)} ${command}`
  return isLong || !script.includes('--import tsx')
    ? helpOf('sh', '-c', `${script} --help`)
    : undefined
}

const knows = (help: string, option: string): boolean =>
  new RegExp(`(^|[\\s,[/|])${option}(?![\\w-])`, 'm').test(help)

/** The options that a help text does not know. */
const unknownOptions = (words: Command, help: string | undefined): string[] =>
  help === undefined ? [] : optionsOf(words).filter((option) => !knows(help, option))

const missingFiles = (words: Command): string[] =>
  words.filter((word) => /^(dist|infra|test)\//.test(word) && !existsSync(join(root, word)))

const LIFECYCLE = ['ci', 'start', 'test']

function checkNpm([first = '', ...words]: Command): string[] {
  if (LIFECYCLE.includes(first) && words.length === 0) return []
  const isRun = first === 'run'
  const [name = '', ...rest] = isRun ? words.filter((word) => word !== '--silent') : [first]
  if (!Object.hasOwn(packageJson.scripts, name)) return [`npm run ${name}: no such script`]
  const own = isRun ? rest : words.filter((word) => word !== '--silent')
  const separator = own.indexOf('--')
  if (separator < 0) return []
  const given = own.slice(separator + 1)
  return name === 'task' ? checkTask(given) : checkScript(name, given)
}

/** Scripts whose first word may be a command with a help of its own. */
const WITH_COMMANDS: Readonly<Record<string, RegExp>> = {
  collector: /^[a-z]/,
  doctor: /^(bundle|--fix)$/,
  'test:long': /^[a-z]/,
}

function checkScript(name: string, words: Command): string[] {
  const [first = ''] = words
  const command = WITH_COMMANDS[name]?.test(first) ? first : ''
  return unknownOptions(words, helpOfScript(name, command))
}

const checkTask = ([task = '']: Command): string[] =>
  task.startsWith('--') || /^[A-Z]+$/.test(task) || usage().includes(`\n  ${task} `)
    ? []
    : [`no task ${task}`]

const PROGRAMS_OF_IMAGES: Readonly<Record<string, (words: Command) => string[]>> = {
  'build/tasks/main.js': checkTask,
  'build/doctor.mjs': (words) => checkScript('doctor', words),
  'build/collector/main.js': (words) => checkScript('collector', words),
  'build/worker/main.js': ([name = '', ...rest]) =>
    name === 'verify-builds' ? unknownOptions(rest, VERIFY_BUILDS_USAGE) : [`no command ${name}`],
}

function checkNode([file = '', ...words]: Command): string[] {
  if (file.startsWith('docs/examples/')) return existsSync(join(root, file)) ? [] : [`no ${file}`]
  const check = PROGRAMS_OF_IMAGES[file]
  return check ? check(words) : [`no image has ${file}`]
}

const TWO_WORDS = ['create', 'rollout']

function checkKubectl(words: Command): string[] {
  const end = words.indexOf('--')
  const own = end < 0 ? words : words.slice(0, end)
  const [verb = '', noun = ''] = own.filter(
    (word, index) => !word.startsWith('-') && own[index - 1] !== '-n',
  )
  const help = helpOf('kubectl', verb, ...(TWO_WORDS.includes(verb) ? [noun] : []), '--help')
  const global = helpOf('kubectl', 'options')
  const unknown = unknownOptions(own, help === undefined ? undefined : `${help}${global}`)
  return [...unknown, ...(end < 0 ? [] : checkCommand(words.slice(end + 1)))]
}

/** Of Helm 4, whose options the documents name; Helm 3 has other words for some. */
const HELM = ['helm', 'helm4'].find((name) => helpOf(name, 'version')?.includes('"v4.'))
if (HELM === undefined) console.log('options of Helm 4 were not tried: it is not on the PATH')

const checkHelm = (words: Command): string[] =>
  HELM === undefined ? [] : unknownOptions(words, helpOf(HELM, words[0] ?? '', '--help'))

const PROGRAMS: Readonly<Record<string, (words: Command) => string[]>> = {
  npm: checkNpm,
  node: checkNode,
  kubectl: checkKubectl,
  helm: checkHelm,
  git: ([verb = '', ...rest]) =>
    unknownOptions(rest, helpOf('git', verb, '-h')?.replaceAll('[no-]', '')),
  pg_dump: (words) => unknownOptions(words.slice(0, 2), '-U -Fc'),
}

/** What is wrong with a command, by the programs themselves. */
function checkCommand([program = '', ...words]: Command): string[] {
  if (Object.hasOwn(TRUSTED, program)) return []
  const check = PROGRAMS[program]
  if (!check) return [`nothing checks ${program}: run it in a test, or say why not`]
  return [...check(words), ...missingFiles(words)]
}

const problemsOf = (code: string): string[] =>
  commandsOf(code).flatMap((words) =>
    checkCommand(words).map((problem) => `${words.join(' ')}: ${problem}`),
  )

/** Commands within a sentence, such as `npm run synth -- --explain KEY`. */
const inlineCommands = (document: string): string[] =>
  [...readDocument(document).matchAll(/`((?:npm|helm|kubectl|node build\/\S+) [^`]+)`/g)].map(
    ([, command = '']) => command.replaceAll('\n', ' ').replaceAll('…', ''),
  )

describe('the commands of the documents', () => {
  const blocks = SHELL_BLOCKS.filter((block) => !isWalk(block))

  it.each(blocks.map(({ document, code }) => ({ document, code, first: code.split('\n')[0] })))(
    'have only options that their programs know, in $document: $first',
    ({ code }) => {
      expect(problemsOf(code)).toEqual([])
    },
    180_000,
  )

  it.each(DOCUMENTS)(
    'have only options that their programs know, in the sentences of %s',
    (name) => {
      expect(inlineCommands(name).flatMap(problemsOf)).toEqual([])
    },
    180_000,
  )
})
