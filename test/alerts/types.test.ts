/** What types and filters choose by the states of an event, which are read only then. */
import t from 'tap';
import { type Filters, findAlertType, isToldOf } from '../../src/alerts/types.js';

t.test('the health of a pool, and whether it was enabled', async (t) => {
  const judge = (type: string, kind: string, filters: Filters, before: object | null, after: object | null) => {
    let read = 0;
    const states = () => {
      read++;
      return { before: before && JSON.stringify(before), after: after && JSON.stringify(after) };
    };
    const event = { seq: 1, kind, account: 1, zone: null, subject: 'ab' };
    return { told: isToldOf(findAlertType(type)!, filters, { event, states }), isRead: read > 0 };
  };
  const health = (filters: Filters, state: string) =>
    judge('load_balancing_health_alert', 'pool.health', filters, null, { state });
  t.strictSame(health({ new_health: ['Healthy'] }, 'healthy'), { told: true, isRead: true });
  t.strictSame(health({ new_health: ['Healthy'] }, 'down'), { told: false, isRead: true });
  t.strictSame(health({ pool_id: ['ab'] }, 'down'), { told: true, isRead: false });
  t.strictSame(health({ pool_id: ['cd'] }, 'down'), { told: false, isRead: false });
  const enablement = (filters: Filters, before: object, after: object, kind = 'pool.edit') =>
    judge('load_balancing_pool_enablement_alert', kind, filters, before, after);
  t.equal(enablement({}, {}, { enabled: false }).told, true);
  t.equal(enablement({ enabled: ['true'] }, {}, { enabled: false }).told, false);
  t.equal(enablement({ enabled: ['true'] }, { enabled: false }, {}).told, true);
  t.equal(enablement({}, { enabled: true }, {}).told, false, 'enabled before and after');
  t.strictSame(enablement({}, {}, { enabled: false }, 'record.edit'), { told: false, isRead: false });
});
