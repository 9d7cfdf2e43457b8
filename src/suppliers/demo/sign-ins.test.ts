// What the demo's issuer remembers has an end: whoever comes last is remembered, and the oldest is not.
import { expect, it } from 'bun:test'
import { SignIns } from './sign-ins.ts'

it('forgets the oldest sign-in where there are too many, and none that is in use', () => {
  const signIns = new SignIns()
  signIns.end('idle')
  signIns.keep('used')
  for (let count = 0; count < 5000; count++) {
    signIns.isGood(`other-${count}`, 0)
    signIns.isGood('used', 0)
  }
  expect(signIns.isGood('idle', 0)).toBe(true)
  expect(signIns.renew('used', 0)).toBe('refused')
})
