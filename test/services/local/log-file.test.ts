import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openLogFile } from '../../../services/local/log-file.ts'
import type { LogFile } from '../../../services/local/log-file.ts'

let directory: string
let log: LogFile

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'log-'))
})

afterEach(async () => {
  await log.stop()
  await rm(directory, { recursive: true })
})

const write = (name: string, text: string) => writeFile(join(directory, name), text)
const read = (name: string) => readFile(join(directory, name), 'utf8').catch(() => '')
const open = (more: { bytesMax?: number; everyMs?: number } = {}) =>
  openLogFile({ directory, onError: () => {}, ...more })

describe('the log of npm start', () => {
  it('goes on where the last start ended', async () => {
    await write('platform.log', 'before\n')
    log = open()
    log.destination.write('after\n')
    await expect.poll(() => read('platform.log')).toBe('before\nafter\n')
  })

  it('begins a new file when the last one has grown too large, and keeps that', async () => {
    await write('platform.log', 'x'.repeat(11))
    log = open({ bytesMax: 10 })
    log.destination.write('new\n')
    await expect.poll(() => read('platform.log')).toBe('new\n')
    expect(await read('platform.log.1')).toBe('x'.repeat(11))
  })

  it('does so while the platform runs, too', async () => {
    log = open({ bytesMax: 10, everyMs: 5 })
    log.destination.write('a line of more\n')
    await expect.poll(() => read('platform.log.1')).toBe('a line of more\n')
    log.destination.write('next\n')
    await expect.poll(() => read('platform.log')).toBe('next\n')
  })
})
