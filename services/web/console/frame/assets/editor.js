// The editor of a definition: what is typed on one side appears on the other, and is checked.

const CHECK_MS = 400

function edit(form) {
  const parts = Object.fromEntries(
    [...form.querySelectorAll('[data-part]')].map((part) => [part.dataset.part, part]),
  )
  const state = { form, parts, asked: 0, timer: 0, isChanged: false, side: 'form' }
  for (const each of form.querySelectorAll('[data-without-editor]')) each.hidden = true
  form.addEventListener('input', ({ target }) => {
    clearTimeout(state.timer)
    const act = target.name === 'definition' ? 'show-text' : 'show-form'
    state.isChanged = true
    state.side = act === 'show-text' ? 'text' : 'form'
    state.timer = setTimeout(() => void check(state, act), CHECK_MS)
  })
  form.addEventListener('click', (event) => {
    const button = event.target.closest('button[name="act"]')
    if (!button || button.value.startsWith('save-')) return
    event.preventDefault()
    state.isChanged = true
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
    if (asked === state.asked) show(state, answer, act)
  } catch {
    // The server checks again when it is saved.
  }
}

function show({ form, parts }, { text, fields, problems, list }, act) {
  parts.problems.innerHTML = problems
  parts.list.innerHTML = list
  form.elements.base.value = text
  if (act !== 'show-text') form.elements.definition.value = text
  // Fields keep the focus while somebody types in them.
  if (act === 'show-form') return
  const closed = [...parts.fields.querySelectorAll('details:not([open])')].map(
    (fold) => fold.dataset.fold,
  )
  parts.fields.innerHTML = fields
  for (const fold of parts.fields.querySelectorAll('details')) {
    fold.open = !closed.includes(fold.dataset.fold)
  }
  const of = /^add-(\w+)$/.exec(act)?.[1]
  const added = of && [...parts.fields.querySelectorAll(`[data-fold^="${of}."]`)].at(-1)
  added?.querySelector('input')?.focus()
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
