import { html, raw } from 'hono/html'
import type { Html } from './html.ts'

const PATHS = {
  dashboard: '<path d="M3 3h6v7H3zM11 3h6v4h-6zM11 9h6v8h-6zM3 12h6v5H3z"/>',
  automations:
    '<circle cx="10" cy="4.5" r="2"/><circle cx="4.5" cy="15" r="2"/>' +
    '<circle cx="15.5" cy="15" r="2"/><path d="M9 6.4 5.6 13M11 6.4l3.4 6.6M6.7 15h6.6"/>',
  key: '<circle cx="6.5" cy="10" r="3.5"/><path d="M10 10h7.5M14.5 10v3M17.5 10v2"/>',
  plug: '<path d="M7 3v4M13 3v4M5 7h10v3a5 5 0 0 1-10 0zM10 15v3"/>',
  building: '<path d="M4 17V4h8v13M12 8h4v9M2.5 17h15M7 7.5h2M7 11h2M7 14.2h2"/>',
  flag: '<path d="M5 17V3.5M5 4.5h9.5l-2 3.5 2 3.5H5"/>',
  eraser: '<path d="m3.5 12 7-7.5 5.5 5.5-6.5 6.5H7zM7 8.2l5.4 5.4M9.5 16.5H17"/>',
  person: '<circle cx="10" cy="6.8" r="3"/><path d="M4 17a6 6 0 0 1 12 0"/>',
  play: '<path d="M6 4.2v11.6L15.5 10z"/>',
  link:
    '<path d="M8.2 11.8a3 3 0 0 0 4.3 0l3-3a3 3 0 0 0-4.3-4.3l-.9.9' +
    'M11.8 8.2a3 3 0 0 0-4.3 0l-3 3a3 3 0 0 0 4.3 4.3l.9-.9"/>',
  pulse: '<path d="M2.5 10.5h3.2l2.3-6 4 11 2.3-5h3.2"/>',
  signOut: '<path d="M8 3.5H4.5v13H8M12 6.5l3.5 3.5-3.5 3.5M15.5 10H8"/>',
  settings:
    '<path d="M3 6h7M14 6h3M3 14h3M10 14h7"/>' +
    '<circle cx="12" cy="6" r="2"/><circle cx="8" cy="14" r="2"/>',
  waterfall: '<path d="M3 5h8M6 10h8M10 15h7"/>',
  chevron: '<path d="m8 5 5 5-5 5"/>',
  back: '<path d="m12 5-5 5 5 5"/>',
  search: '<circle cx="9" cy="9" r="5"/><path d="m13 13 3.5 3.5"/>',
  runs: '<path d="M3 5h2M3 10h2M3 15h2M8 5h9M8 10h9M8 15h9"/>',
  download: '<path d="M10 3v9m-3.5-3.5L10 12l3.5-3.5M4 16.5h12"/>',
  repeat:
    '<path d="M4 9a6 6 0 0 1 10.5-3.5L16 7m0-3.5V7h-3.5' +
    'M16 11a6 6 0 0 1-10.5 3.5L4 13m0 3.5V13h3.5"/>',
  alert: '<path d="M10 3.2 18 16.8H2zM10 8.2v4M10 14.3v.3"/>',
  pen: '<path d="m4 16 .8-3.6L13.4 3.8l2.8 2.8-8.6 8.6z"/>',
  history: '<path d="M4 6.5A7 7 0 1 1 3 10M3 4v3.5h3.5M10 6.5V10l2.5 2"/>',
  gauge: '<path d="M3 14a7 7 0 1 1 14 0M10 14l3.5-5"/>',
  people:
    '<circle cx="7.5" cy="7" r="2.7"/>' +
    '<path d="M2.5 16.5a5 5 0 0 1 10 0M12.8 4.6a2.6 2.6 0 0 1 0 4.9' +
    'M14.8 12.3a4.6 4.6 0 0 1 2.7 4.2"/>',
  package:
    '<path d="M10 2.8 16.5 6v8L10 17.2 3.5 14V6z"/><path d="M3.5 6 10 9.2 16.5 6M10 9.2v8"/>',
  menu: '<path d="M3 5.5h14M3 10h14M3 14.5h14"/>',
  check: '<path d="m4 10.5 4 4 8-9"/>',
} as const

/** The icons that there are. */
export type IconName = keyof typeof PATHS

/** A line icon, hidden from screen readers: the text next to it says the same. */
export function icon(name: IconName): Html {
  return html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
    ${raw(PATHS[name])}
  </svg>`
}
