import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { homedir } from 'node:os'
import { join } from 'node:path'

const { PATH, XDG_CACHE_HOME } = process.env
const built = join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'crew-platform/tools')
/** Finds those programs; in Go, they end before collecting garbage pays. */
export const toolEnv = { ...process.env, PATH: `${PATH}:${built}`, GOGC: 'off' }

/** A program that checks manifests, on the PATH or where `.ci/install-tools` builds it. */
export const runTool = (command: string, args: readonly string[]) =>
  spawnSync(command, args, { env: toolEnv, encoding: 'utf8', maxBuffer: 1 << 26 })

/** The same while this process goes on, such as a server that the program calls. */
export const runToolBeside = (command: string, args: readonly string[]) =>
  promisify(execFile)(command, [...args], { env: toolEnv, encoding: 'utf8' })
