// A secret leaves by one door; every other way of printing it shows that there is one and no more.
import { expect, it } from 'bun:test'
import { inspect } from 'node:util'
import { Secret } from './secret.ts'

const CANARY = 'canary-1f2e3d'
const secret = new Secret(CANARY)

it('is told to whoever asks for it', () => {
  expect(secret.reveal()).toBe(CANARY)
})

it.each([
  ['a string', String(secret)],
  ['JSON', JSON.stringify({ nested: [secret] })],
  ['an inspector', inspect({ secret }, { depth: null, showHidden: true })],
  ["the runtime's inspector", Bun.inspect({ secret })],
  ['an error', String(new Error('it failed', { cause: secret }).cause)],
  ['its members', JSON.stringify([Object.entries(secret), Object.getOwnPropertyNames(secret)])],
  ['a copy', JSON.stringify(Object.assign({}, secret))],
])('does not show in %s', (_, text) => {
  expect(text).not.toContain(CANARY)
})
