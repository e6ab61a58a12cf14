// The editor of a definition: what is typed on one side appears on the other, and is checked.

import { createHistory } from './history.js'

const CHECK_MS = 400

function edit(form) {
  const parts = Object.fromEntries(
    [...form.querySelectorAll('[data-part]')].map((part) => [part.dataset.part, part]),
  )
  const state = { form, parts, asked: 0, timer: 0, isChanged: false, side: 'form' }
  for (const each of form.querySelectorAll('[data-without-editor]')) each.hidden = true
  form.addEventListener('input', ({ target }) => {
    clearTimeout(state.timer)
    // What names it by this key follows, once the key is whole.
    if (target.name.endsWith('.key')) return
    const isText = target.name === 'definition'
    state.isChanged = true
    state.type()
    state.side = isText ? 'text' : 'form'
    // An answer to what was there before would take away what is typed.
    state.asked += 1
    const act = isText ? 'show-text' : state.isRenamed ? 'rename' : 'show-form'
    state.timer = setTimeout(() => void check(state, act), CHECK_MS)
  })
  form.addEventListener('change', ({ target }) => {
    if (!target.name.endsWith('.key')) return
    state.isChanged = true
    state.isRenamed = true
    state.type()
    void check(state, 'rename')
  })
  form.addEventListener('click', (event) => {
    const button = event.target.closest('button[name="act"]')
    if (!button || button.value.startsWith('save-')) return
    event.preventDefault()
    state.isChanged = true
    state.type()
    void check(state, button.value)
  })
  form.addEventListener('submit', () => {
    state.isSent = true
  })
  const opened = form.elements.definition.value
  addEventListener('beforeunload', (event) => {
    if (!state.isSent && form.elements.definition.value !== opened) event.preventDefault()
  })
  addFile(state)
  addUndo(state, opened)
  for (const other of document.querySelectorAll('form[data-saves-first]')) {
    other.addEventListener('submit', (event) => {
      if (!state.isChanged) return
      event.preventDefault()
      void saveThen(state, other)
    })
  }
}

/** Saves the definition before another form is sent; when it is refused, its page says why. */
async function saveThen(state, other) {
  const { form, side } = state
  const save = form.querySelector(`[value="save-${side}"]`)
  const body = new URLSearchParams(new FormData(form, save))
  const response = await fetch(form.action, { method: 'POST', body }).catch(() => undefined)
  if (!response?.redirected) return form.requestSubmit(save)
  state.isSent = true
  other.submit()
}

/** Asks the server for the other side, with what is wrong. */
async function check(state, act) {
  clearTimeout(state.timer)
  const asked = (state.asked += 1)
  const body = new URLSearchParams(new FormData(state.form))
  body.set('act', act)
  try {
    const response = await fetch(state.form.dataset.editor, { method: 'POST', body })
    if (!response.ok || response.redirected) return
    const answer = await response.json()
    if (asked !== state.asked) return
    show(state, answer, act)
    if (act !== 'show-form') state.isRenamed = false
  } catch {
    // The server checks again when it is saved.
  }
}

function show(state, { text, fields, marks, ...shown }, act) {
  const { form, parts } = state
  for (const part of ['problems', 'list', 'graph']) parts[part].innerHTML = shown[part]
  form.elements.base.value = text
  if (act !== 'show-text') form.elements.definition.value = text
  state.remember(text)
  // Fields keep the focus while somebody types in them.
  if (act === 'show-form') mark(parts.fields, marks)
  else replaceFields(parts.fields, fields, /^add-(\w+)/.exec(act)?.[1])
}

/** Shows other fields, with the same entries open and the same field in focus, or those added. */
function replaceFields(place, fields, added) {
  const open = [...place.querySelectorAll('details[open]')].map((fold) => fold.dataset.fold)
  const { name, selectionStart: start, selectionEnd: end } = document.activeElement
  place.innerHTML = fields
  if (added) return openEntry(place, [...place.querySelectorAll(`[data-fold^="${added}."]`)])
  for (const fold of place.querySelectorAll('details')) fold.open = open.includes(fold.dataset.fold)
  const field = name && place.querySelector(`[name="${CSS.escape(name)}"]`)
  field?.focus()
  if (typeof start === 'number') field?.setSelectionRange(start, end)
}

function openEntry(place, folds) {
  const last = folds.filter((fold) => fold.matches('.editor-entry')).at(-1)
  for (const fold of place.querySelectorAll('details')) fold.open = fold === last
  last?.querySelector('input:not([name$=".key"]), textarea')?.focus()
}

/** Says what is wrong beside each field, and how much is wrong in each entry. */
function mark(fields, marks) {
  for (const place of fields.querySelectorAll('[data-mark]')) {
    const problem = marks[place.dataset.mark] ?? ''
    place.textContent = problem
    const field = place.previousElementSibling
    if (problem === '') field?.removeAttribute('aria-invalid')
    else field?.setAttribute('aria-invalid', 'true')
  }
  for (const pill of fields.querySelectorAll('[data-count]')) {
    const { count } = pill.dataset
    const wrong = Object.keys(marks).filter((each) => `${each}.`.startsWith(`${count}.`))
    pill.textContent = wrong.length
    pill.hidden = wrong.length === 0
  }
}

/** Offers to take back one change after the other. */
function addUndo(state, opened) {
  const history = createHistory(opened)
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'button'
  button.textContent = 'Undo'
  button.disabled = true
  state.form.querySelector('.editor-save').append(button)
  state.type = () => {
    history.type()
    button.disabled = false
  }
  state.remember = (text) => {
    button.disabled = !history.remember(text)
  }
  button.addEventListener('click', () => {
    state.isChanged = true
    state.side = 'text'
    state.form.elements.definition.value = history.undo()
    void check(state, 'show-text')
  })
}

/** Offers to read the text from a file. */
function addFile(state) {
  const label = document.createElement('label')
  const input = document.createElement('input')
  label.className = 'button'
  label.textContent = 'Open a file'
  input.type = 'file'
  input.accept = '.json,application/json'
  input.className = 'unseen'
  label.append(input)
  const open = async () => {
    const [file] = input.files
    if (!file) return
    state.form.elements.definition.value = await file.text()
    state.isChanged = true
    state.side = 'text'
    input.value = ''
    await check(state, 'show-text')
  }
  input.addEventListener('change', () => void open())
  state.form.querySelector('[value="save-text"]').after(label)
}

for (const form of document.querySelectorAll('[data-editor]')) edit(form)
