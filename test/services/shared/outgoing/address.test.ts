import { describe, expect, it } from 'vitest'
import { addressProblem, readAddress } from '../../../../services/shared/outgoing/address.ts'
import { HOSTILE_ADDRESSES } from '../../../support/hostile-addresses.ts'

describe('an address that calls are aimed by', () => {
  it.each([
    'https://good.example',
    'https://good.example/',
    'http://good.example:8080/v1',
    'https://good.example/x.git?a=b&c=%20',
    'https://good.example/@scope/~x/a%2Fb',
    'https://host_1.internal/x',
    'https://xn--bcher-kva.example/x',
    'https://10.0.0.1/x',
    'https://[fd00::1]:8443/x',
    'http://localhost:3000/x',
  ])('may be %s, and is used as it is', (given) => {
    expect(addressProblem(given)).toBeUndefined()
    expect([given, `${given}/`]).toContain(readAddress(given, 'It').href)
  })

  it.each(HOSTILE_ADDRESSES)('is never %j', (given) => {
    expect(addressProblem(given)).toMatch(/^must /)
    expect(() => readAddress(given, 'It')).toThrow(/^It must /)
  })

  it('is shown in the form to write it in, unless there may be a secret in it', () => {
    expect(addressProblem('https://GOOD.example:443/a/../x')).toContain(' https://good.example/x:')
    expect(addressProblem('https://GOOD.example?key=hunter2')).toContain(
      ' https://good.example/?…:',
    )
    for (const given of ['https://ada:hunter2@good.example/', 'https://good.example\\hunter2@x/']) {
      expect(addressProblem(given)).not.toContain('hunter2')
    }
  })
})
