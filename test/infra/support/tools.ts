import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'

const { PATH, XDG_CACHE_HOME } = process.env
const built = join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'crew-platform/tools')
// Programs in Go that end before collecting garbage pays.
const env = { ...process.env, PATH: `${PATH}:${built}`, GOGC: 'off' }

/** A program that checks manifests, on the PATH or where `.ci/install-tools` builds it. */
export const runTool = (command: string, args: readonly string[]) =>
  spawnSync(command, args, { env, encoding: 'utf8', maxBuffer: 1 << 26 })
