import { describe, expect, it } from 'vitest'
import {
  signToolsReadToken,
  verifyToolsReadToken,
} from '../../../services/shared/tools-read-token.ts'

const keys = { secretKeyBase: 'a-secret-key-base-of-at-least-32-characters' }
const HOUR_MS = 3_600_000

describe('a token that reads packages', () => {
  it('is good for one organization and an hour, also while the key is rotated', () => {
    const token = signToolsReadToken(keys.secretKeyBase, 7)
    expect(verifyToolsReadToken(keys, token)).toBe(7)
    expect(verifyToolsReadToken(keys, token, Date.now() + HOUR_MS - 2000)).toBe(7)
    expect(verifyToolsReadToken(keys, token, Date.now() + HOUR_MS)).toBeUndefined()
    const rotated = { secretKeyBase: 'another', previousSecretKeyBase: keys.secretKeyBase }
    expect(verifyToolsReadToken(rotated, token)).toBe(7)
    expect(verifyToolsReadToken({ secretKeyBase: 'another' }, token)).toBeUndefined()
  })

  it('is of no use once anything of it is changed', () => {
    const token = signToolsReadToken(keys.secretKeyBase, 7)
    const changed = [
      token.replace('ctr_7_', 'ctr_8_'),
      token.replace('ctr_7_', 'ctr_07_'),
      token.replace(/_1(\d+)_/, '_2$1_'),
      token.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      token.slice(0, -1),
      `${token}0`,
      token.toUpperCase(),
      '',
      'pat_x',
    ]
    for (const each of changed) expect(verifyToolsReadToken(keys, each), each).toBeUndefined()
  })
})
