// The keys of the console, and the box that lists them. The page of a trace has its own.

import { openPalette } from './palette.js'

const CHORD_MS = 1200
const OFF_KEY = 'single-keys-off'
const GOES = [
  ['d', '/', 'Dashboard'],
  ['a', '/automations', 'Automations'],
  ['p', '/projects', 'Projects'],
  ['r', '/executions', 'Runs'],
  ['t', '/traces', 'Traces'],
  ['b', '/budgets', 'Budgets'],
  ['k', '/tokens', 'Tokens'],
  ['m', '/settings/organization/members', 'Members'],
]

const make = (tag, className, text = '') => {
  const made = document.createElement(tag)
  made.className = className
  made.textContent = text
  return made
}

const entryOf = (path) => document.querySelector(`nav[aria-label="Main"] a[href="${path}"]`)
const tabsOf = () => [...document.querySelectorAll('nav.tabs a')]
/** What of this page has a key: it is pressed, or a field gets the focus. */
const keyedOf = () => [...document.querySelectorAll('main [data-key]')]
const areSingleKeysOff = () => localStorage.getItem(OFF_KEY) !== null

function listOfKeys() {
  const tabs = tabsOf().length
  return [
    ['Ctrl K or ⌘ K', 'Search, and go to any page'],
    ['/', 'The search or the filter of this page'],
    ...GOES.filter(([, path]) => entryOf(path)).map(([key, , name]) => [`g ${key}`, name]),
    ...keyedOf().map(({ dataset }) => [dataset.key, dataset.keyName]),
    ...(tabs > 0 ? [[`1 … ${tabs}`, 'The tabs of this page']] : []),
    ['?', 'These keys'],
  ]
}

let box

function showKeys() {
  box?.remove()
  box = make('dialog', 'card keys shortcuts')
  const title = make('h2', '', 'Keyboard shortcuts')
  title.id = 'shortcuts-title'
  box.setAttribute('aria-labelledby', title.id)
  const keys = make('dl', 'pairs')
  for (const [key, what] of listOfKeys()) {
    const pair = document.createElement('div')
    const name = make('dt', '')
    name.append(make('kbd', '', key))
    pair.append(name, make('dd', '', what))
    keys.append(pair)
  }
  const close = make('button', 'button small', 'Close')
  close.type = 'button'
  close.addEventListener('click', () => box.close())
  box.append(title, keys, singleKeys(), close)
  document.body.append(box)
  box.showModal()
}

/** Whoever speaks to the browser types single keys by accident. */
function singleKeys() {
  const label = make('label', 'tick')
  const tick = document.createElement('input')
  tick.type = 'checkbox'
  tick.checked = !areSingleKeysOff()
  tick.addEventListener('change', () => {
    if (tick.checked) localStorage.removeItem(OFF_KEY)
    else localStorage.setItem(OFF_KEY, 'yes')
  })
  label.append(tick, 'Keys without Ctrl or ⌘')
  return label
}

let wentAt = -CHORD_MS

/** Returns true for a key that did something. */
function actOn(key) {
  const isSecond = performance.now() - wentAt < CHORD_MS
  wentAt = -CHORD_MS
  if (isSecond) {
    const [, path] = GOES.find(([each]) => each === key) ?? []
    return goTo(path && entryOf(path))
  }
  const keyed = keyedOf().find(({ dataset }) => dataset.key === key)
  if (keyed) {
    if (keyed.matches('input, textarea')) keyed.focus()
    else keyed.click()
  } else if (key === 'g') wentAt = performance.now()
  else if (key === '?') showKeys()
  else if (key === '/') return focusFilter()
  else return /^[1-9]$/.test(key) && goTo(tabsOf()[Number(key) - 1])
  return true
}

function goTo(link) {
  if (!link) return false
  location.assign(link.href)
  return true
}

function focusFilter() {
  const field = document.querySelector('main input[type="search"]')
  if (field) field.focus()
  else openPalette()
  return true
}

const isTyping = (target) =>
  target instanceof Element && target.closest('input, select, textarea, [contenteditable]') !== null

const isPaletteKey = ({ key, ctrlKey, metaKey, altKey, shiftKey }) =>
  key === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey

/** Keys of the browser, of a field, of a box that is open, and of a page with keys of its own. */
const isForOthers = ({ target, ctrlKey, metaKey, altKey }) =>
  ctrlKey ||
  metaKey ||
  altKey ||
  areSingleKeysOff() ||
  isTyping(target) ||
  document.querySelector('dialog[open], [data-trace]') !== null

export function listenToShortcuts() {
  document.addEventListener('keydown', (event) => {
    const { key, target } = event
    if (event.defaultPrevented || event.isComposing) return
    if (key === 'Escape' && target instanceof Element && target.matches('[data-key]')) target.blur()
    if (isPaletteKey(event)) {
      event.preventDefault()
      openPalette()
      return
    }
    if (!isForOthers(event) && actOn(key)) event.preventDefault()
  })
  for (const hint of document.querySelectorAll('[data-keys-hint]')) hint.hidden = false
  const button = document.querySelector('[data-shortcuts]')
  if (!button) return
  button.hidden = false
  button.addEventListener('click', () => {
    button.closest('details').open = false
    showKeys()
  })
}

listenToShortcuts()
