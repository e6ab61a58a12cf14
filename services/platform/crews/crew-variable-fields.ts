/** The longest value of a variable, in bytes. */
const VARIABLE_BYTES_MAX = 32_768
/** The longest name of a variable. */
export const VARIABLE_NAME_MAX = 128
/** The names of variables that people may set. */
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

/** Those that the platform sets for each crew, beside all that begin with CREW_. */
const RESERVED = new Set(['PORT', 'HOST', 'HOME', 'TMPDIR', 'PATH', 'VIRTUAL_ENV', 'PYTHONHOME'])

/** Returns what is wrong with the name of a variable. */
export function variableNameProblem(name: string): string | undefined {
  if (!VARIABLE_NAME.test(name)) {
    return (
      'must have letters, digits and _, begin with none of the digits, and have at most 128 ' +
      'characters'
    )
  }
  return RESERVED.has(name) || name.startsWith('CREW_')
    ? `must be another one: the platform sets ${name} itself`
    : undefined
}

/** Returns what is wrong with the value of a variable. */
export function variableValueProblem(value: string): string | undefined {
  if (value.includes('\0')) return 'must not have the character U+0000'
  return Buffer.byteLength(value) > VARIABLE_BYTES_MAX
    ? `must have at most ${VARIABLE_BYTES_MAX} bytes`
    : undefined
}
