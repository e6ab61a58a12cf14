// The palette: a search over the pages of the navigation, and over what has a name.

const QUIET_MS = 120
const SHOWN_MAX = 20

let palette

/** Opens the palette with an empty field. */
export function openPalette() {
  palette ??= createPalette()
  palette.open()
}

function createPalette() {
  const dialog = document.createElement('dialog')
  dialog.className = 'palette'
  dialog.setAttribute('aria-label', 'Search')
  const field = document.createElement('input')
  const list = document.createElement('div')
  const hint = document.createElement('p')
  Object.assign(field, { type: 'text', autocomplete: 'off', spellcheck: false, maxLength: 100 })
  field.placeholder = 'Search pages, automations, projects and runs, or paste the id of a run'
  list.id = 'palette-list'
  hint.setAttribute('role', 'status')
  list.setAttribute('role', 'listbox')
  list.setAttribute('aria-label', 'Found')
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': list.id,
    'aria-autocomplete': 'list',
    'aria-label': 'Search',
  }))
    field.setAttribute(name, value)
  dialog.append(field, list, hint)
  document.body.append(dialog)
  const state = { dialog, field, list, hint, entries: [], at: 0, asked: 0 }
  field.addEventListener('input', () => void update(state))
  field.addEventListener('keydown', (event) => choose(state, event))
  list.addEventListener('click', ({ target }) => {
    const option = target.closest('[role="option"]')
    if (option) location.assign(option.dataset.path)
  })
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close()
  })
  return {
    open() {
      if (dialog.open) return
      field.value = ''
      show(state, ownEntries(''))
      say(state, true)
      dialog.showModal()
      field.focus()
    },
  }
}

/** The pages that this one leads to: tabs, then the navigation. */
function ownEntries(text) {
  const wanted = text.toLowerCase()
  const links = document.querySelectorAll('nav.tabs a, nav[aria-label="Main"] a, .menu-list a')
  return [...links]
    .map((link) => ({
      name: link.textContent.trim(),
      path: link.getAttribute('href'),
      kind: link.closest('.tabs') ? 'This automation' : 'Page',
    }))
    .filter(({ name }) => name.toLowerCase().includes(wanted))
}

async function update(state) {
  const text = state.field.value.trim()
  const own = ownEntries(text)
  const runs = text === '' ? [] : [inRuns(text)]
  show(state, [...own, ...runs])
  say(state, true)
  const asked = (state.asked += 1)
  if (text === '') return
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
  if (asked !== state.asked) return
  try {
    const response = await fetch(`/find/entries?q=${encodeURIComponent(text)}`)
    if (!response.ok || response.redirected) return
    const { entries } = await response.json()
    if (asked !== state.asked) return
    const named = [...own, ...entries].slice(0, SHOWN_MAX - 1)
    show(state, [...named, ...runs])
    say(state, named.length > 0)
  } catch {
    // What this page knows is shown already.
  }
}

/** The runs whose inputs or output have the text: there are too many to list them here. */
const inRuns = (text) => ({
  name: `Runs with “${text}” in their inputs or output`,
  path: `/executions?text=${encodeURIComponent(text)}`,
  kind: 'Search',
})

const KEYS = '↑ ↓ to choose, Enter to open, Esc to close'

function say({ hint }, hasFound) {
  hint.textContent = hasFound ? KEYS : `Nothing has this name. ${KEYS}`
}

function show(state, entries) {
  state.entries = entries.slice(0, SHOWN_MAX)
  state.at = 0
  state.list.replaceChildren(...state.entries.map(toOption))
  mark(state)
}

function toOption({ name, kind, path }, index) {
  const option = document.createElement('div')
  const text = document.createElement('b')
  const what = document.createElement('span')
  option.id = `palette-${index}`
  option.dataset.path = path
  option.setAttribute('role', 'option')
  text.textContent = name
  what.textContent = kind
  option.append(text, what)
  return option
}

function mark({ field, list, at }) {
  for (const [index, option] of [...list.children].entries()) {
    option.setAttribute('aria-selected', String(index === at))
    if (index === at) option.scrollIntoView({ block: 'nearest' })
  }
  if (list.children.length > 0) field.setAttribute('aria-activedescendant', `palette-${at}`)
  else field.removeAttribute('aria-activedescendant')
}

const STEPS = { ArrowDown: 1, ArrowUp: -1 }

function choose(state, event) {
  const { entries } = state
  if (event.key in STEPS && entries.length > 0) {
    state.at = (state.at + STEPS[event.key] + entries.length) % entries.length
    mark(state)
  } else if (event.key === 'Enter' && entries[state.at]) {
    location.assign(entries[state.at].path)
  } else return
  event.preventDefault()
}

export function linkPalette() {
  const link = document.querySelector('[data-palette]')
  if (!link) return
  const key = document.createElement('kbd')
  key.textContent = /Mac|iP/.test(navigator.platform) ? '⌘ K' : 'Ctrl K'
  link.append(key)
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    openPalette()
  })
}

linkPalette()
