import { describe, expect, it } from 'vitest'
import {
  canonicalVersion,
  isToolName,
  isVersionSpecifier,
  normalizeToolName,
  parseToolFilename,
} from '../../../../services/platform/tools/python-packages.ts'
import { startDuration } from '../../../support/duration.ts'

describe('names of Python packages (PEP 503, PEP 508)', () => {
  it('compare without case, and without regard to runs of -, _ and .', () => {
    for (const name of ['My-Tool', 'my_tool', 'MY.TOOL', 'my-._-tool']) {
      expect(normalizeToolName(name)).toBe('my-tool')
    }
  })

  it('have letters and digits at both ends', () => {
    for (const good of ['a', 'A1', 'a.b-c_d', '0x']) expect(isToolName(good)).toBe(true)
    const bad = ['', '-a', 'a-', '.a', 'a b', 'ä', 'a/b', '../a', 'a\n', 'a'.repeat(101)]
    for (const name of bad) expect(isToolName(name), name).toBe(false)
  })
})

describe('versions of Python packages (PEP 440)', () => {
  it.each([
    ['1.0', '1'],
    ['1.0.0', '1'],
    ['V1.2', '1.2'],
    ['01.002', '1.2'],
    ['0', '0'],
    ['2!1.0', '2!1'],
    ['0!1.0', '1'],
    ['1.0-ALPHA.1', '1a1'],
    ['1.0b', '1b0'],
    ['1.0c2', '1rc2'],
    ['1.0.preview_3', '1rc3'],
    ['1.0-4', '1.post4'],
    ['1.0.rev5', '1.post5'],
    ['1.0.DEV', '1.dev0'],
    ['1.0a1.post2.dev3+Ubuntu_1-x', '1a1.post2.dev3+ubuntu.1.x'],
  ])('%s is %s', (given, canonical) => expect(canonicalVersion(given)).toBe(canonical))

  it.each(['', 'x', '1.', '1..2', '1.0 ', '1.0+', '1.0+-', '1-', '-1', '1.0\n', '9'.repeat(101)])(
    '%j is none',
    (given) => expect(canonicalVersion(given)).toBeUndefined(),
  )

  it('take no time over a text that is made to take much', () => {
    const reading = startDuration('reading two long versions')
    expect(canonicalVersion(`1${'.1'.repeat(40)}+${'a-'.repeat(9)}`)).toBeUndefined()
    expect(canonicalVersion(`1+${'a.'.repeat(48)}`)).toBeUndefined()
    reading.expectBelow(20_000)
  })
})

describe('requires-python', () => {
  it.each(['>=3.10', '>=3.10,<4', '~=3.11', '==3.*', '!=3.9.*, >3', '<=3.13', '===3.11.1'])(
    'takes %s',
    (given) => expect(isVersionSpecifier(given)).toBe(true),
  )

  it.each(['', '3.10', '=>3', '>=3.*', '>=', '>=3,', '>=3 <4', '"><script>', '>=3'.repeat(70)])(
    'refuses %j',
    (given) => expect(isVersionSpecifier(given)).toBe(false),
  )
})

describe('the names of files', () => {
  it.each([
    ['my_tool-1.0-py3-none-any.whl', 'my_tool', '1.0'],
    ['my_tool-1.0-1-cp311-cp311-manylinux_2_17_x86_64.whl', 'my_tool', '1.0'],
    ['my_tool-1.0.tar.gz', 'my_tool', '1.0'],
    ['my-tool-1.0.zip', 'my-tool', '1.0'],
    ['tool-1.0-4.tar.gz', 'tool', '1.0-4'],
    ['tool-1!1.0+local.1.tar.gz', 'tool', '1!1.0+local.1'],
  ])('%s tell name and version', (filename, name, version) => {
    expect(parseToolFilename(filename)).toEqual({ name, version })
  })

  it.each([
    '',
    'tool.whl',
    'tool-1.0.whl',
    'tool-1.0.exe',
    'tool-1.0.tar.bz2',
    '../tool-1.0.tar.gz',
    'a/tool-1.0.tar.gz',
    'a\\tool-1.0.tar.gz',
    '.tool-1.0.tar.gz',
    'tool-1.0.tar.gz\n',
    'tool 1.0-1.0.tar.gz',
    'tool-1.0-"><script>.tar.gz',
    `${'x'.repeat(260)}-1.0.tar.gz`,
  ])('%j is refused', (filename) => expect(parseToolFilename(filename)).toBeUndefined())
})
