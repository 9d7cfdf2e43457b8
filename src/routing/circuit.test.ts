import { describe, expect, it } from 'bun:test'
import { Circuit, REST_MAX_MS, REST_MS, type Pass } from './circuit.ts'
import { LISTED, PROBING, RESTING, WAITING } from './reason.ts'

const BLOW = { why: '500 broken', restMs: REST_MS }
const BUSY = { why: '429' }
const SECOND = 1000

/** A call that comes, fails and goes. */
function fail(circuit: Circuit, now: number, side: 'local' | 'remote' = 'remote'): void {
  const pass = circuit.enter(now)
  circuit.failed(pass, side, BLOW, now)
  circuit.leave(pass)
}

function failTimes(times: number, circuit: Circuit, now: number): void {
  for (let index = 0; index < times; index++) fail(circuit, now)
}

function succeed(circuit: Circuit, now: number, pass: Pass = circuit.enter(now)): void {
  circuit.proved(pass, now)
  circuit.finished(pass, now)
  circuit.leave(pass)
}

/** One that has just begun its first rest, at this moment. */
function resting(now = 0): Circuit {
  const circuit = new Circuit()
  failTimes(5, circuit, now)
  return circuit
}

describe('failures in a row', () => {
  for (const side of ['local', 'remote'] as const)
    it(`close a way at the fifth that is ${side}, and not before`, () => {
      const circuit = new Circuit()
      const standings = Array.from({ length: 5 }, () => {
        fail(circuit, 0, side)
        return circuit.standing(0)
      })
      expect(standings).toEqual([LISTED, LISTED, LISTED, LISTED, RESTING])
    })

  it('are counted apart for the line and for whoever answers', () => {
    const circuit = new Circuit()
    for (let index = 0; index < 4; index++) {
      fail(circuit, 0, 'local')
      fail(circuit, 0, 'remote')
    }
    expect(circuit.standing(0)).toBe(LISTED)
    expect(circuit.view(0)).toMatchObject({ localFailures: 4, remoteFailures: 4, state: 'ready' })
  })

  it('begin anew after a call that went well', () => {
    const circuit = new Circuit()
    failTimes(4, circuit, 0)
    succeed(circuit, 0)
    failTimes(4, circuit, 0)
    expect(circuit.standing(0)).toBe(LISTED)
  })

  it('go on where streams begin and break off each time', () => {
    const circuit = new Circuit()
    for (let index = 0; index < 5; index++) {
      const pass = circuit.enter(0)
      circuit.proved(pass, 0)
      circuit.failed(pass, 'remote', BLOW, 0)
      circuit.leave(pass)
    }
    expect(circuit.standing(0)).toBe(RESTING)
  })

  it('of the line are over once a request is refused for what it is; those of the supplier are not', () => {
    const circuit = new Circuit()
    fail(circuit, 0, 'local')
    fail(circuit, 0, 'remote')
    circuit.reached(circuit.enter(0), 0)
    expect(circuit.view(0)).toMatchObject({ localFailures: 0, remoteFailures: 1 })
  })
})

describe('a rest', () => {
  it('takes half a minute, then a minute, and never more than five', () => {
    const circuit = new Circuit()
    failTimes(5, circuit, 0)
    const rests: number[] = []
    let now = 0
    for (let index = 0; index < 12; index++) {
      rests.push(circuit.remaining(now) / SECOND)
      now += circuit.remaining(now)
      fail(circuit, now)
    }
    expect(rests).toEqual([30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300])
  })

  it('is one shorter for every half minute of calm', () => {
    for (const [calm, next] of [
      [0, 90],
      [29, 90],
      [30, 60],
      [59, 60],
      [60, 30],
      [3600, 30],
    ] as const) {
      const circuit = resting()
      fail(circuit, 30 * SECOND)
      succeed(circuit, 90 * SECOND)
      const now = (90 + calm) * SECOND
      failTimes(5, circuit, now)
      expect([calm, circuit.remaining(now) / SECOND]).toEqual([calm, next])
    }
  })

  it('is as long as the first one where the last was long ago, also where once is enough', () => {
    const circuit = new Circuit()
    circuit.broke(circuit.enter(0), BLOW, 0)
    succeed(circuit, 30 * SECOND)
    circuit.broke(circuit.enter(3600 * SECOND), BLOW, 3600 * SECOND)
    expect(circuit.remaining(3600 * SECOND)).toBe(30 * SECOND)
  })

  it('is not made shorter by a calm that a failure has broken', () => {
    const circuit = resting()
    fail(circuit, 30 * SECOND)
    succeed(circuit, 90 * SECOND)
    fail(circuit, 119 * SECOND)
    failTimes(4, circuit, 121 * SECOND)
    expect(circuit.remaining(121 * SECOND)).toBe(90 * SECOND)
  })

  it('counts calm in whole half minutes, however often it is looked at', () => {
    const circuit = resting()
    fail(circuit, 30 * SECOND)
    succeed(circuit, 90 * SECOND)
    const rests = [119, 135, 149, 150].map((at) => {
      circuit.review(at * SECOND)
      return circuit.view(at * SECOND).rests
    })
    expect(rests).toEqual([2, 1, 1, 0])
  })

  it('is neither longer nor shorter for calls that were under way when it began', () => {
    const circuit = new Circuit()
    const [good, bad, busy] = [circuit.enter(0), circuit.enter(0), circuit.enter(0)]
    failTimes(5, circuit, 0)
    succeed(circuit, SECOND, good)
    circuit.failed(bad, 'remote', BLOW, 2 * SECOND)
    circuit.broke(bad, BLOW, 2 * SECOND)
    circuit.backOff(busy, BUSY, 2 * SECOND, 0)
    expect([circuit.standing(29_999), circuit.standing(30_000)]).toEqual([RESTING, LISTED])
    expect(circuit.view(2 * SECOND)).toMatchObject({ rests: 1, why: '500 broken' })
  })

  it('leaves what went wrong since alone when those who set out before it end well', () => {
    const circuit = new Circuit()
    const old = circuit.enter(0)
    failTimes(5, circuit, 0)
    succeed(circuit, 30 * SECOND)
    failTimes(4, circuit, 30 * SECOND)
    circuit.finished(old, 31 * SECOND)
    circuit.pause(old, SECOND, '503', 31 * SECOND)
    expect(circuit.view(32 * SECOND)).toMatchObject({ state: 'ready', remoteFailures: 4 })
  })

  it('is not ended after its time by who set out before it, and nobody closes it again', () => {
    const circuit = new Circuit()
    const [good, bad] = [circuit.enter(0), circuit.enter(0)]
    failTimes(5, circuit, 0)
    succeed(circuit, 31 * SECOND, good)
    expect(circuit.view(31 * SECOND).state).toBe('probing')
    circuit.failed(bad, 'remote', BLOW, 31 * SECOND)
    expect(circuit.standing(31 * SECOND)).toBe(LISTED)
  })

  it('is over as soon as somebody who had no other choice is answered', () => {
    const circuit = resting()
    succeed(circuit, 5 * SECOND)
    expect(circuit.view(5 * SECOND)).toMatchObject({ state: 'ready', remainingMs: 0 })
  })

  it('is not made longer by those who had no other choice', () => {
    const circuit = resting()
    failTimes(20, circuit, 5 * SECOND)
    expect(circuit.remaining(5 * SECOND)).toBe(25 * SECOND)
    expect(circuit.view(5 * SECOND).rests).toBe(1)
  })

  it('begins at once and takes its full time where a person must see to it', () => {
    const circuit = new Circuit()
    circuit.broke(circuit.enter(0), { why: '401', restMs: REST_MAX_MS }, 0)
    expect(circuit.remaining(0)).toBe(300 * SECOND)
  })

  it('is not begun again from outside while it lasts', () => {
    const circuit = resting()
    circuit.close({ why: 'slow', restMs: REST_MS }, SECOND)
    expect(circuit.view(SECOND)).toMatchObject({ remainingMs: 29 * SECOND, rests: 1 })
  })
})

describe('after a rest', () => {
  const after = 30 * SECOND

  it('one call finds out, and the others see that somebody does', () => {
    const circuit = resting()
    expect(circuit.standing(after)).toBe(LISTED)
    circuit.enter(after)
    expect(circuit.standing(after)).toBe(PROBING)
    expect(circuit.standing(after + 29_999)).toBe(PROBING)
  })

  it('one that takes half a minute keeps nobody else from finding out', () => {
    const circuit = resting()
    const slow = circuit.enter(after)
    const later = after + 30 * SECOND
    expect(circuit.standing(later)).toBe(LISTED)
    const next = circuit.enter(later)
    expect(circuit.standing(later)).toBe(PROBING)
    // What it comes to in the end is as good, or as bad, as of anybody who came while it was closed.
    circuit.failed(slow, 'remote', BLOW, later)
    circuit.leave(slow)
    expect(circuit.standing(later)).toBe(PROBING)
    circuit.failed(next, 'remote', BLOW, later)
    expect(circuit.remaining(later)).toBe(60 * SECOND)
  })

  it('one that took too long, and is answered, opens the way all the same', () => {
    const circuit = resting()
    const slow = circuit.enter(after)
    const next = circuit.enter(after + 30 * SECOND)
    succeed(circuit, after + 31 * SECOND, slow)
    expect(circuit.view(after + 31 * SECOND).state).toBe('ready')
    circuit.failed(next, 'remote', BLOW, after + 32 * SECOND)
    expect(circuit.view(after + 32 * SECOND)).toMatchObject({ state: 'ready', remoteFailures: 1 })
  })

  it('its success opens the way at once', () => {
    const circuit = resting()
    circuit.proved(circuit.enter(after), after)
    expect(circuit.view(after)).toMatchObject({ state: 'ready', rests: 1 })
  })

  it('its failure closes the way for longer', () => {
    const circuit = resting()
    fail(circuit, after)
    expect(circuit.remaining(after)).toBe(60 * SECOND)
  })

  it('its leaving without a verdict makes room for the next', () => {
    const circuit = resting()
    circuit.leave(circuit.enter(after))
    expect(circuit.standing(after)).toBe(LISTED)
    const next = circuit.enter(after)
    expect(circuit.standing(after)).toBe(PROBING)
    succeed(circuit, after, next)
    expect(circuit.standing(after)).toBe(LISTED)
  })

  it('nobody else can give its place away', () => {
    const circuit = new Circuit()
    const early = circuit.enter(0)
    failTimes(5, circuit, 0)
    const late = circuit.enter(SECOND)
    circuit.enter(after)
    circuit.leave(early)
    circuit.leave(late)
    expect(circuit.standing(after)).toBe(PROBING)
  })

  it('neither can who comes while it is under way, and what becomes of that one changes nothing', () => {
    const circuit = resting()
    circuit.enter(after)
    fail(circuit, after)
    expect([circuit.standing(after), circuit.remaining(after)]).toEqual([PROBING, 0])
  })

  it('its place is free after the next rest, also where it has not left', () => {
    const circuit = resting()
    circuit.failed(circuit.enter(after), 'remote', BLOW, after)
    expect(circuit.standing(90 * SECOND)).toBe(LISTED)
  })

  it('what becomes of it later counts as of any other call', () => {
    const circuit = resting()
    const pass = circuit.enter(after)
    circuit.proved(pass, after)
    circuit.failed(pass, 'remote', BLOW, after + SECOND)
    expect(circuit.view(after + SECOND)).toMatchObject({ state: 'ready', remoteFailures: 1 })
  })

  it('a refusal of its request alone proves nothing', () => {
    const circuit = resting()
    const pass = circuit.enter(after)
    circuit.reached(pass, after)
    circuit.leave(pass)
    expect(circuit.view(after).state).toBe('probing')
    expect(circuit.standing(after)).toBe(LISTED)
  })
})

describe('a pause that a supplier asks for', () => {
  it('is kept to the end, whoever is answered meanwhile', () => {
    const circuit = new Circuit()
    const other = circuit.enter(0)
    circuit.wait(7 * SECOND, '429', 0)
    succeed(circuit, SECOND, other)
    expect([circuit.standing(6999), circuit.standing(7000)]).toEqual([WAITING, LISTED])
    expect(circuit.remaining(SECOND)).toBe(6 * SECOND)
  })

  it('is the longest of several, and five minutes at most', () => {
    const circuit = new Circuit()
    circuit.wait(60 * SECOND, '429', 0)
    circuit.wait(5 * SECOND, '429', 0)
    expect(circuit.remaining(0)).toBe(60 * SECOND)
    circuit.wait(3600 * SECOND, '429', 0)
    expect(circuit.remaining(0)).toBe(300 * SECOND)
  })

  it('ends by time alone for one that is busy, and with one call for one that is down', () => {
    const busy = new Circuit()
    busy.wait(7 * SECOND, '429', 0)
    busy.enter(7 * SECOND)
    expect(busy.standing(7 * SECOND)).toBe(LISTED)
    const down = new Circuit()
    down.pause(down.enter(0), 7 * SECOND, '503', 0)
    // Who set out a moment too late to know of it does not find out.
    down.enter(6 * SECOND)
    expect([6, 7].map((at) => down.standing(at * SECOND))).toEqual([WAITING, LISTED])
    down.enter(7 * SECOND)
    expect(down.standing(7 * SECOND)).toBe(PROBING)
  })

  it('is followed by a rest where the one who found out is told the same again', () => {
    const circuit = new Circuit()
    circuit.pause(circuit.enter(0), 7 * SECOND, '503', 0)
    circuit.pause(circuit.enter(7 * SECOND), 5 * SECOND, '503', 7 * SECOND)
    expect([8, 13, 37].map((at) => circuit.standing(at * SECOND))).toEqual([
      WAITING,
      RESTING,
      LISTED,
    ])
  })

  it('comes before a rest: what is left of it is what is told', () => {
    const circuit = resting()
    circuit.wait(7 * SECOND, '429', 0)
    expect([circuit.standing(0), circuit.remaining(0)]).toEqual([WAITING, 7 * SECOND])
    expect(circuit.standing(7 * SECOND)).toBe(RESTING)
  })
})

describe('a supplier that is busy and does not say for how long', () => {
  const backOff = (circuit: Circuit, now: number, draw: number): number => {
    circuit.backOff(circuit.enter(now), BUSY, now, draw)
    return circuit.remaining(now)
  }

  it('is given twice as long each time, to a minute', () => {
    const circuit = new Circuit()
    let now = 0
    const times = Array.from({ length: 8 }, () => {
      const ms = backOff(circuit, now, 0.999_999)
      now += ms
      return Math.round(ms / SECOND)
    })
    expect(times).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  })

  it('is given between half and all of that, as chance has it', () => {
    expect(backOff(new Circuit(), 0, 0)).toBe(500)
    expect(backOff(new Circuit(), 0, 0.5)).toBe(750)
  })

  it('begins anew after an answer', () => {
    const circuit = new Circuit()
    backOff(circuit, 0, 0)
    backOff(circuit, SECOND, 0)
    succeed(circuit, 10 * SECOND)
    expect(backOff(circuit, 10 * SECOND, 0)).toBe(500)
  })

  it('is not given longer by those who come all the same', () => {
    const circuit = new Circuit()
    backOff(circuit, 0, 0)
    for (let now = 10; now < 500; now += 10) backOff(circuit, now, 0)
    expect([circuit.standing(499), circuit.standing(500)]).toEqual([RESTING, LISTED])
    expect(backOff(circuit, 500, 0)).toBe(SECOND)
  })

  it('is not given longer by calls that were under way together', () => {
    const circuit = new Circuit()
    const passes = Array.from({ length: 10 }, () => circuit.enter(0))
    for (const pass of passes) circuit.backOff(pass, BUSY, 0, 0)
    expect(circuit.remaining(0)).toBe(500)
    for (const pass of passes) circuit.backOff(pass, BUSY, SECOND, 0)
    expect(circuit.standing(SECOND)).toBe(LISTED)
  })
})

describe('a way on which all is well again', () => {
  it.each([
    ['a pause', (circuit: Circuit) => circuit.wait(SECOND, '429', 0), 2],
    ['one failure', (circuit: Circuit) => fail(circuit, 0), 1],
    ['a rest', (circuit: Circuit) => failTimes(5, circuit, 0), 61],
    ['being busy', (circuit: Circuit) => circuit.backOff(circuit.enter(0), BUSY, 0, 0), 2],
  ])('is as if nothing had ever happened, after %s', (_name, harm, seconds) => {
    const circuit = new Circuit()
    harm(circuit)
    expect(circuit.isClear).toBe(false)
    succeed(circuit, 31 * SECOND)
    circuit.review((31 + seconds) * SECOND)
    expect(circuit.isClear).toBe(true)
    expect(circuit.view((31 + seconds) * SECOND).why).toBeUndefined()
  })

  it('needs no call to be so after a pause', () => {
    const circuit = new Circuit()
    circuit.wait(7 * SECOND, '429', 0)
    circuit.review(6 * SECOND)
    expect(circuit.isClear).toBe(false)
    circuit.review(7 * SECOND)
    expect(circuit.isClear).toBe(true)
  })

  it('is not so while nobody has found out', () => {
    const circuit = resting()
    circuit.review(3600 * SECOND)
    expect([circuit.isClear, circuit.isClosed]).toEqual([false, true])
  })
})

describe('trouble that one key alone has', () => {
  const failBy = (circuit: Circuit, by: string, now: number, times = 1): void => {
    for (let index = 0; index < times; index++) {
      const pass = circuit.enter(now)
      circuit.failed(pass, 'remote', { ...BLOW, by }, now)
      circuit.leave(pass)
    }
  }
  const serve = (circuit: Circuit, by: string, now: number): void => {
    const pass = circuit.enter(now)
    circuit.proved(pass, now)
    circuit.finished(pass, now, by)
    circuit.leave(pass)
  }
  const refuse = (circuit: Circuit, by: string, now: number): void =>
    circuit.backOff(circuit.enter(now), { ...BUSY, by }, now, 0)

  it('closes nothing while others are served well', () => {
    const circuit = new Circuit()
    serve(circuit, 'victim', 0)
    failBy(circuit, 'culprit', 59_999, 50)
    refuse(circuit, 'culprit', 59_999)
    expect(circuit.standing(59_999)).toBe(LISTED)
    expect(circuit.view(59_999)).toMatchObject({ state: 'ready', remoteFailures: 50 })
  })

  it('is trouble once nobody else was served well for a minute', () => {
    const [failing, busy] = [new Circuit(), new Circuit()]
    serve(failing, 'other', 0)
    serve(busy, 'other', 0)
    failBy(failing, 'one', 59 * SECOND, 9)
    failBy(failing, 'one', 60 * SECOND)
    refuse(busy, 'one', 60 * SECOND)
    expect([failing, busy].map((each) => each.standing(60 * SECOND))).toEqual([RESTING, RESTING])
  })

  it('is trouble as soon as another key has it, too', () => {
    const circuit = new Circuit()
    serve(circuit, 'other', 0)
    failBy(circuit, 'one', SECOND, 4)
    expect(circuit.standing(SECOND)).toBe(LISTED)
    serve(circuit, 'third', SECOND)
    failBy(circuit, 'one', 2 * SECOND, 9)
    expect(circuit.standing(2 * SECOND)).toBe(LISTED)
    failBy(circuit, 'other', 2 * SECOND)
    expect(circuit.standing(2 * SECOND)).toBe(RESTING)
  })

  it('is trouble as soon as another key is told to wait, too', () => {
    const circuit = new Circuit()
    serve(circuit, 'other', 0)
    refuse(circuit, 'one', SECOND)
    refuse(circuit, 'one', SECOND)
    expect(circuit.standing(SECOND)).toBe(LISTED)
    refuse(circuit, 'other', SECOND)
    // As long as the first time: what did not count has not made it longer.
    expect(circuit.remaining(SECOND)).toBe(500)
  })

  it('is shared only by those who had it since a call went well', () => {
    const circuit = new Circuit()
    failBy(circuit, 'one', 0, 2)
    failBy(circuit, 'other', 0, 2)
    serve(circuit, 'other', 0)
    failBy(circuit, 'one', SECOND, 9)
    refuse(circuit, 'other', SECOND)
    serve(circuit, 'other', SECOND)
    refuse(circuit, 'one', SECOND)
    expect(circuit.standing(SECOND)).toBe(LISTED)
  })

  it('is not made better by its own calls that go well', () => {
    const circuit = new Circuit()
    serve(circuit, 'one', 0)
    failBy(circuit, 'one', 0, 5)
    expect(circuit.standing(0)).toBe(RESTING)
  })

  it('is told from that of others however many are served', () => {
    const circuit = new Circuit()
    for (const by of ['one', 'other', 'one', 'one']) serve(circuit, by, 0)
    failBy(circuit, 'one', SECOND, 9)
    expect(circuit.standing(SECOND)).toBe(LISTED)
    for (const by of ['third', 'one', 'third']) serve(circuit, by, 50 * SECOND)
    failBy(circuit, 'third', 60 * SECOND, 9)
    expect(circuit.standing(60 * SECOND)).toBe(LISTED)
  })

  it('is trouble at once where it is the line to the supplier', () => {
    const circuit = new Circuit()
    serve(circuit, 'other', 0)
    for (let index = 0; index < 5; index++)
      circuit.failed(circuit.enter(0), 'local', { ...BLOW, by: 'one' }, 0)
    expect(circuit.standing(0)).toBe(RESTING)
  })

  it('does not make a rest longer either, where others were served well before it', () => {
    const circuit = new Circuit()
    serve(circuit, 'other', 0)
    failBy(circuit, 'one', 0, 4)
    failBy(circuit, 'other', 0)
    failBy(circuit, 'one', 30 * SECOND)
    expect(circuit.standing(30 * SECOND)).toBe(LISTED)
    expect(circuit.view(30 * SECOND)).toMatchObject({ state: 'probing', rests: 1 })
    failBy(circuit, 'other', 30 * SECOND)
    expect(circuit.remaining(30 * SECOND)).toBe(60 * SECOND)
  })

  it('is forgotten when another finds that the supplier is back', () => {
    const circuit = new Circuit()
    serve(circuit, 'other', 0)
    failBy(circuit, 'one', 0, 4)
    failBy(circuit, 'other', 0)
    failBy(circuit, 'one', 30 * SECOND, 9)
    circuit.proved(circuit.enter(31 * SECOND), 31 * SECOND)
    failBy(circuit, 'one', 90 * SECOND, 4)
    expect(circuit.standing(90 * SECOND)).toBe(LISTED)
  })
})
