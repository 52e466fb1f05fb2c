/** Rows: as a Set of the same members says. */
import fc from 'fast-check';
import t from 'tap';
import { type InRow, Row } from '../../../src/base/lists/row.js';

class Member implements InRow<Member> {
  row: Row<Member> | undefined;
  before: Member | undefined;
  after: Member | undefined;
  constructor(readonly name: number) {}
}

t.test('members come and go in any order', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(7), fc.boolean()), { maxLength: 60 }), (steps) => {
      const members = Array.from({ length: 8 }, (_, i) => new Member(i));
      const [row, other] = [new Row<Member>(), new Row<Member>()];
      const set = new Set<number>();
      for (const [name, comes] of steps) {
        const member = members[name]!;
        if (other.delete(member)) throw new Error('it was in the other row');
        if (!comes) t.equal(row.delete(member), set.delete(name));
        else if (!row.has(member)) {
          row.add(member);
          set.add(name);
        }
      }
      t.strictSame(
        [...row].map((one) => one.name),
        [...set],
      );
      t.equal(row.size, set.size);
      t.equal(row.first?.name, [...set][0]);
      for (const member of row) row.delete(member);
      t.strictSame([row.size, row.first, [...row]], [0, undefined, []]);
    }),
    { numRuns: 200, seed: 38 },
  );
});
