import type { Place, Report } from './report.ts'

const KEY = /^[A-Za-z][\w-]{0,63}$/

/**
 * Gives each name of a project a key of a definition: the name itself where it is allowed, else one
 * like it. Keys are unique.
 */
export function toKeys(
  names: readonly (Place & { readonly name: string })[],
  report: Report,
): Map<string, string> {
  const keys = new Map<string, string>()
  const taken = new Set(names.map(({ name }) => name).filter((name) => KEY.test(name)))
  for (const place of names) {
    const { name } = place
    if (keys.has(name)) report.refuse(place, `There are two of the name ${name}.`)
    else if (KEY.test(name)) keys.set(name, name)
    else {
      const key = freeKey(name, taken)
      taken.add(key)
      keys.set(name, key)
      report.note(place, `A key holds letters, digits, _ and -, so ${name} becomes ${key}.`)
    }
  }
  return keys
}

function freeKey(name: string, taken: ReadonlySet<string>): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '')
  const base = plain.replace(/[^\w-]+/g, '_').slice(0, 50)
  const start = /^[A-Za-z]/.test(base) ? base : `k_${base.replace(/^_+/, '')}`
  let key = start
  for (let number = 2; taken.has(key); number += 1) key = `${start}_${number}`
  return key
}
