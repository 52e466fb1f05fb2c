/** What is remembered of stored owners and of the gaps between them is what the database says. */
import t from 'tap';
import { equalBytes } from '../../../src/base/bytes.js';
import { storedOwners } from '../../../src/control/dnssec/signing/stored-owners.js';
import {
  firstSignaturesBetween,
  lastSignaturesBetween,
  putSignatures,
  signatureOctets,
} from '../../../src/store/dnssec/signatures.js';
import type { SqlValue, Store } from '../../../src/store/driver.js';
import { placeOfSet } from '../../../src/store/records/places.js';
import { startControl } from '../fixture.js';

const PLACE = placeOfSet(99);
const NUMBERS = 40;

/** The apex, and names of one or two labels, in canonical order. */
const key = (number: number): Uint8Array => {
  if (number === 0) return new Uint8Array(0);
  return Buffer.from(number % 3 === 0 ? `n${100 + number}\0a\0` : `n${100 + number}\0`);
};

/** A store that counts how often it is asked. */
function counted(store: Store): { readonly store: Store; readonly asked: () => number } {
  let asked = 0;
  const counting = Object.assign(Object.create(store) as Store, {
    prepare: (sql: string) => {
      const statement = store.prepare<SqlValue[], never>(sql);
      return {
        ...statement,
        get: (...values: SqlValue[]) => {
          asked++;
          return statement.get(...values);
        },
      };
    },
  });
  return { store: counting, asked: () => asked };
}

t.test('any questions in any order', async (t) => {
  const { ctx } = await startControl(t);
  const { store } = ctx;
  const isStored = (number: number): boolean => number === 0 || (number * 7) % 5 < 2 || (number > 20 && number < 26);
  await store.write(() => {
    for (let i = 0; i < NUMBERS; i++) if (isStored(i)) putSignatures(store, PLACE, key(i), null, Buffer.of(i));
  });
  let wrong = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const owners = storedOwners(store, PLACE);
    let state = seed;
    const next = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    for (let question = 0; question < 60; question++) {
      const a = next(NUMBERS);
      const b = a + 1 + next(NUMBERS - a);
      const before = b < NUMBERS ? key(b) : undefined;
      const kind = next(3);
      const [said, is] =
        kind === 0
          ? [owners.at(key(a)), signatureOctets(store, PLACE, key(a))]
          : kind === 1
            ? [
                owners.firstBetween(key(a), before)?.owner_key,
                firstSignaturesBetween(store, PLACE, key(a), before)?.owner_key,
              ]
            : [
                owners.lastBetween(key(a), before ?? key(NUMBERS))?.owner_key,
                lastSignaturesBetween(store, PLACE, key(a), before ?? key(NUMBERS))?.owner_key,
              ];
      const isSame = said && is ? equalBytes(said, is) : said === is;
      if (!isSame) wrong++;
    }
  }
  t.equal(wrong, 0);
});

t.test('names side by side in one gap ask once', async (t) => {
  const { ctx } = await startControl(t);
  await ctx.store.write(() => {
    for (const number of [0, 5, 30]) putSignatures(ctx.store, PLACE, key(number), null, Buffer.of(number));
  });
  const { store, asked } = counted(ctx.store);
  const owners = storedOwners(store, PLACE);
  for (let i = 6; i < 30; i++) t.equal(owners.at(key(i)), undefined);
  for (let i = 6; i < 29; i++) {
    t.equal(owners.firstBetween(key(i), key(i + 1)), undefined);
    t.equal(owners.lastBetween(key(i), key(i + 1)), undefined);
  }
  t.same(owners.firstBetween(key(29), undefined)?.owner_key, key(30));
  t.equal(asked(), 1);
});
