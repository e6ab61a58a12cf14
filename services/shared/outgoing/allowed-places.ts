import { addressProblem } from './address.ts'

const HOST = /^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/i

/** Tells whether a text is a place: a host, perhaps with `*.` or a port, or the start of a URL. */
export const isPlace = (text: string): boolean =>
  HOST.test(text) || (addressProblem(text) === undefined && !text.includes('?'))

/**
 * Tells whether a URL is at one of the places: hosts, at the standard port unless they name
 * another, with `*.` all below one; and beginnings of URLs, which end where a part of the path
 * does.
 */
export function isAllowed(url: URL, places: readonly string[]): boolean {
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return false
  return places.some((place) =>
    /^https?:\/\//i.test(place) ? beginsWith(url, new URL(place)) : isOfHost(url, place),
  )
}

function isOfHost({ host }: URL, place: string): boolean {
  const wanted = place.toLowerCase()
  return wanted.startsWith('*.') ? host.endsWith(wanted.slice(1)) : host === wanted
}

function beginsWith(url: URL, place: URL): boolean {
  if (url.origin !== place.origin) return false
  const path = place.pathname.replace(/\/$/, '')
  if (path === '') return true
  // Servers read %2f and a backslash as they like: ..%2f may lead out of the path.
  if (/%2f|%5c|\\/i.test(url.pathname)) return false
  return url.pathname === path || url.pathname.startsWith(`${path}/`)
}
