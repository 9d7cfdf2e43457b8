// Which failures of the database pass, and after which nothing can be believed.
import { describe, expect, it } from 'bun:test'
import { appendFailed } from './failure.ts'

describe('a failure of the database', () => {
  const failure = (code: string): Error => Object.assign(new Error('no'), { code })

  it.each([
    'SQLITE_IOERR_FSYNC',
    'SQLITE_IOERR_DIR_FSYNC',
    'SQLITE_CORRUPT',
    'SQLITE_NOTADB',
    'SQLITE_CONSTRAINT_UNIQUE',
    'SQLITE_CONSTRAINT_PRIMARYKEY',
    'SQLITE_CONSTRAINT_CHECK',
  ])('after which nothing can be believed says so: %s', (code) => {
    const problem = appendFailed(failure(code))
    expect(problem).toMatchObject({ code: 'billing_unavailable', details: { fatal: true } })
  })

  it.each([
    'SQLITE_FULL',
    'SQLITE_BUSY',
    'SQLITE_READONLY',
    'SQLITE_IOERR_WRITE',
    'SQLITE_CONSTRAINT_DATATYPE',
    'SQLITE_MISMATCH',
    'SQLITE_CANTOPEN',
  ])('that passes does not: %s', (code) => {
    const problem = appendFailed(failure(code))
    expect(problem).toMatchObject({ code: 'billing_unavailable', cause: { code } })
    expect(problem.details).toBeUndefined()
  })
})
