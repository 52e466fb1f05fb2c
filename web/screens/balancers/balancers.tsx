/** Load balancers of a zone: their pools in the order of failover, and how is chosen between them. */
import { ListState } from '../../kit/list.js';
import { useLoad } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Empty } from '../../parts/notes.js';
import { usePlace } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import { mayRead, mayWrite, usePermissions } from '../../session.js';
import type { BalancingPool, LoadBalancer } from '../../types.js';
import { Balancer } from './balancer.js';
import { NewBalancer } from './new-balancer.js';

export default function Balancers({ zone }: ZoneScreenProps) {
  const permissions = usePermissions();
  const path = `/zones/${zone.id}/load_balancers`;
  const account = `/accounts/${zone.account.id}/load_balancers`;
  const balancers = useLoad<LoadBalancer[]>(path);
  const pools = useLoad<BalancingPool[]>(mayRead(permissions, 'loadBalancing') ? `${account}/pools` : undefined);
  const { query } = usePlace();
  const writes = mayWrite(permissions, 'loadBalancers');
  const names = new Map((pools.answer?.result ?? []).map(({ id, name }) => [id, name]));
  const list = balancers.answer?.result ?? [];
  return (
    <>
      <ListState loaded={balancers} what="load balancers" />
      {balancers.answer && list.length === 0 && (
        <Empty title="There are no load balancers yet">
          <p>A load balancer is a name that is answered with the addresses of healthy origins.</p>
        </Empty>
      )}
      {list.map((balancer) => (
        <Balancer
          key={balancer.id}
          path={`${path}/${balancer.id}`}
          balancer={balancer}
          names={names}
          writes={writes}
          onChange={balancers.reload}
        />
      ))}
      {writes && mayWrite(permissions, 'loadBalancing') && (
        <NewBalancer
          path={path}
          account={account}
          zone={zone.name}
          name={query.get('name') ?? ''}
          address={query.get('address') ?? ''}
          onMade={() => {
            pools.reload();
            balancers.reload();
          }}
        />
      )}
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}
