// What is found of an account is its own, in the order in which it was made.
import { expect, it } from 'bun:test'
import type { UserRecord } from '../core/tenancy.ts'
import { Directory } from './directory.ts'

function put(
  directory: Directory,
  id: string,
  accountId: string,
  change: Partial<UserRecord> = {},
) {
  const record = { id, accountId, name: id, email: undefined, createdAt: 1, endedAt: undefined }
  directory.put({ type: 'user', record: { ...record, ...change } })
}

const namesOf = (directory: Directory, accountId?: string): readonly string[] =>
  Array.from(directory.list('user', accountId), ({ name }) => name)

it('lists an account by itself, and what is replaced keeps its place', () => {
  const directory = new Directory()
  put(directory, 'usr_1', 'acc_a')
  put(directory, 'usr_2', 'acc_b')
  put(directory, 'usr_3', 'acc_a')
  put(directory, 'usr_1', 'acc_a', { name: 'renamed', endedAt: 2 })
  expect(namesOf(directory, 'acc_a')).toEqual(['renamed', 'usr_3'])
  expect(namesOf(directory, 'acc_b')).toEqual(['usr_2'])
  expect(namesOf(directory, 'acc_c')).toEqual([])
  expect(namesOf(directory)).toEqual(['renamed', 'usr_2', 'usr_3'])
  expect(Array.from(directory.list('project', 'acc_a'))).toEqual([])
})
