import { describe, expect, it } from 'vitest'
import { createSnippets } from '../../../../services/web/console/automations/client-snippets.ts'

const snippetsFor = createSnippets()
const apiUrl = 'https://platform.test/platform/api/v1/crew/1'
const oauth = { clientId: 'it\'s "$&"', scope: 'a__BODY__b', tokenUrl: undefined }

describe('the programs that start a run', () => {
  it('are those with a static token, and those with OAuth where it is on', () => {
    const inputs = { topic: '…' }
    expect(snippetsFor({ apiUrl, inputs, oauth: undefined }).map(({ needs }) => needs)).toEqual([
      'TOKEN',
      'TOKEN',
    ])
    expect(snippetsFor({ apiUrl, inputs, oauth })).toHaveLength(8)
  })

  it('have every placeholder filled in, each value as a literal of the language', () => {
    for (const { title, text } of snippetsFor({ apiUrl, inputs: { "o'clock": '…' }, oauth })) {
      const isShell = title.includes('curl')
      expect(text, title).not.toContain('undefined')
      expect(text.replaceAll('a__BODY__b', ''), title).not.toMatch(/__[A-Z_]+__/)
      expect(text, title).toContain(isShell ? `'${apiUrl}/kickoff'` : `"${apiUrl}/kickoff"`)
      expect(text, title).toContain(isShell ? `"o'\\''clock":"…"` : `"o'clock":"…"`)
    }
  })
})
