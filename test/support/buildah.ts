import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const PYTHON_ROOT = new URL('python-root.py', import.meta.url).pathname
const PROGRAMS = ['sh', 'cat', 'rm', 'mkdir']
const COMMAND_MS = 20 * 60_000
/** An image with uv and Python, which stands in for that of a registry. */
export const PYTHON_IMAGE = 'localhost/python:base'

const run = promisify(execFile)

/** Why no image is built here, if so. */
export function whyNoBuildah(): string | undefined {
  if (process.getuid?.() !== 0) return 'buildah runs as root only here'
  for (const program of ['buildah', 'runc', 'uv']) {
    if (spawnSync(program, ['--version']).status !== 0) return `no ${program} is on the PATH`
  }
  return undefined
}

/** A store of images of its own. */
export interface Buildah {
  readonly directory: string
  /** Runs a command of buildah to its end, and returns what it wrote. Raises when it fails. */
  command(...args: readonly string[]): Promise<string>
  /** Starts a program in a container, which has the network of this machine. */
  start(container: string, args: readonly string[]): { stop(): Promise<void> }
  close(): Promise<void>
}

/**
 * Opens a store with an image of this machine's own Python and uv, so that nothing is pulled from
 * anywhere.
 */
export async function openBuildah(): Promise<Buildah> {
  const directory = await mkdtemp(join(tmpdir(), 'buildah-'))
  const env = { ...process.env, ...(await writeSettings(directory)) }
  const options = { env, maxBuffer: 64 << 20, timeout: COMMAND_MS }
  const command = async (...args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await run('buildah', args, options)
    return stdout + stderr
  }
  await makePythonImage(directory, command)
  return {
    directory,
    command,
    start(container, args) {
      const program = ['run', '--terminal=false', container, '--', ...args]
      const child = spawn('buildah', program, { env, stdio: 'inherit', detached: true })
      const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
      return {
        async stop() {
          // The program is another process of its group.
          if (child.exitCode === null) process.kill(-(child.pid ?? 0))
          await ended
        },
      }
    },
    async close() {
      await command('rm', '--all')
      await command('rmi', '--all', '--force')
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** An image to build. */
export interface ImageBuild {
  /** By their paths. */
  readonly files: Readonly<Record<string, string>>
  readonly dockerfile: string
  /** What its steps read as secrets, by their ids. */
  readonly secrets: Readonly<Record<string, string>>
  readonly variables: Readonly<Record<string, string>>
  readonly tag: string
}

/** Builds an image with the network of this machine, and returns what was written. */
export async function buildImage(buildah: Buildah, build: ImageBuild): Promise<string> {
  const context = join(buildah.directory, 'context')
  const definition = join(buildah.directory, 'Dockerfile')
  await rm(context, { recursive: true, force: true })
  await mkdir(context)
  for (const [path, text] of Object.entries(build.files)) await writeFile(join(context, path), text)
  await writeFile(definition, build.dockerfile)
  const flags = ['--pull-never', '--layers', '--network', 'host', '--file', definition]
  for (const [id, text] of Object.entries(build.secrets)) {
    const file = join(buildah.directory, `secret-${id}`)
    await writeFile(file, text)
    flags.push('--secret', `id=${id},src=${file}`)
  }
  for (const [name, value] of Object.entries(build.variables))
    flags.push('--env', `${name}=${value}`)
  return buildah.command('build', ...flags, '--tag', build.tag, context)
}

async function writeSettings(directory: string): Promise<Record<string, string>> {
  const storage = join(directory, 'storage.conf')
  const containers = join(directory, 'containers.conf')
  const [graph, running] = [join(directory, 'graph'), join(directory, 'running')]
  await writeFile(
    storage,
    `[storage]\ndriver = "overlay"\ngraphroot = "${graph}"\nrunroot = "${running}"\n`,
  )
  await writeFile(containers, '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\n')
  return {
    CONTAINERS_STORAGE_CONF: storage,
    CONTAINERS_CONF: containers,
    BUILDAH_ISOLATION: 'chroot',
    BUILDAH_FORMAT: 'docker',
    // The caches of builds are there.
    TMPDIR: directory,
  }
}

async function makePythonImage(directory: string, command: Buildah['command']): Promise<void> {
  const context = join(directory, 'base')
  await mkdir(context)
  // What is on the PATH may be a script that looks for uv.
  const say = 'import os; print(os.environ["UV"])'
  const uv = await run('uv', ['run', '--quiet', '--no-project', 'python3', '-c', say])
  await run('python3', [PYTHON_ROOT, join(context, 'root'), ...PROGRAMS, uv.stdout.trim()])
  const definition = join(context, 'Containerfile')
  await writeFile(definition, 'FROM scratch\nCOPY root /\nENV PATH=/usr/bin\n')
  await command('build', '--pull-never', '--file', definition, '--tag', PYTHON_IMAGE, context)
  await rm(context, { recursive: true })
}
