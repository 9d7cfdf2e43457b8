;; Finds the end of a JSON string, sixteen bytes at a time.
(module
  ;; One mebibyte for a stretch of a document, and a page behind it so that no look ahead leaves the memory.
  (memory (export "memory") 17)

  ;; In the last page, by the byte that follows a backslash: 1 for " / \ b f n r t.
  (data (i32.const 0x10ff00)
    "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00"
    "\00\00\01\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00"
    "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00"
    "\00\00\01\00\00\00\01\00\00\00\00\00\00\00\01\00\00\00\01\00\01\00\00\00\00\00\00\00\00\00\00\00")

  ;; `at` stands inside of a string. Returns twice the place behind its closing quote, plus one where an escape stood
  ;; in between; or -1 less the place of what stands in no string: a control character, the backslash of a broken
  ;; escape. The zeros that must follow the stretch are control characters, so no end has to be looked for.
  (func (export "endOf") (param $at i32) (result i32)
    (local $block v128) (local $stops i32) (local $stop i32) (local $place i32) (local $byte i32)
    (local $skip i32) (local $escaped i32)
    (loop $blocks
      (local.set $block (v128.load (local.get $at)))
      (local.set $stops
        (i8x16.bitmask
          (v128.or
            (v128.or
              (i8x16.eq (local.get $block) (i8x16.splat (i32.const 0x22)))
              (i8x16.eq (local.get $block) (i8x16.splat (i32.const 0x5c))))
            (i8x16.lt_u (local.get $block) (i8x16.splat (i32.const 0x20))))))
      (loop $next
        (if (i32.eqz (local.get $stops))
          (then
            (local.set $at (i32.add (local.get $at) (i32.const 16)))
            (br $blocks)))
        (local.set $stop (i32.ctz (local.get $stops)))
        (local.set $place (i32.add (local.get $at) (local.get $stop)))
        (local.set $byte (i32.load8_u (local.get $place)))
        (if (i32.eq (local.get $byte) (i32.const 0x22))
          (then
            (return
              (i32.or
                (i32.shl (i32.add (local.get $place) (i32.const 1)) (i32.const 1))
                (local.get $escaped)))))
        (if (i32.ne (local.get $byte) (i32.const 0x5c))
          (then (return (i32.sub (i32.const -1) (local.get $place)))))
        (local.set $escaped (i32.const 1))
        (local.set $byte (i32.load8_u offset=1 (local.get $place)))
        (if (i32.and
              (i32.lt_u (local.get $byte) (i32.const 0x80))
              (i32.load8_u offset=0x10ff00 (i32.and (local.get $byte) (i32.const 0x7f))))
          (then (local.set $skip (i32.const 2)))
          (else
            ;; \u and four digits.
            (if (i32.eqz
                  (i32.and
                    (i32.eq (local.get $byte) (i32.const 0x75))
                    (i32.and
                      (i32.and
                        (call $isHex (i32.load8_u offset=2 (local.get $place)))
                        (call $isHex (i32.load8_u offset=3 (local.get $place))))
                      (i32.and
                        (call $isHex (i32.load8_u offset=4 (local.get $place)))
                        (call $isHex (i32.load8_u offset=5 (local.get $place)))))))
              (then (return (i32.sub (i32.const -1) (local.get $place)))))
            (local.set $skip (i32.const 6))))
        ;; What is left of the block goes on behind the escape, if any of it is left.
        (local.set $stop (i32.add (local.get $stop) (local.get $skip)))
        (if (i32.ge_u (local.get $stop) (i32.const 16))
          (then
            (local.set $at (i32.add (local.get $at) (local.get $stop)))
            (br $blocks)))
        (local.set $stops
          (i32.and (local.get $stops) (i32.shl (i32.const -1) (local.get $stop))))
        (br $next)))
    (unreachable))

  (func $isHex (param $byte i32) (result i32)
    (i32.or
      (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10))
      (i32.lt_u
        (i32.sub (i32.or (local.get $byte) (i32.const 0x20)) (i32.const 0x61))
        (i32.const 6)))))
