/** Who may ping. */
import t from 'tap';
import { hasCapability, isInRange } from '../../../src/roles/process/icmp-capability.js';

t.test('by the range of groups, or by the capability', async (t) => {
  t.equal(isInRange('1\t0\n', [0, 1]), false, 'nobody may');
  t.equal(isInRange('0\t2147483647\n', [1000]), true);
  t.equal(isInRange('100\t200\n', [99, 201]), false);
  t.equal(isInRange('', [0]), false);
  t.equal(hasCapability('Name:\tx\nCapEff:\t0000000000002000\n'), true);
  t.equal(hasCapability('CapPrm:\t0000000000002000\nCapEff:\t0000000000000400\n'), false);
  t.equal(hasCapability(''), false);
});
