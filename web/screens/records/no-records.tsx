/** What the list of records says when it has none. */
import { Button } from '../../kit/button.js';
import { useLoad } from '../../load.js';
import { Empty, WithFlags } from '../../parts/notes.js';
import { PastEnd } from '../../parts/paging.js';
import { Link, withQuery } from '../../router.js';
import { usePermissions } from '../../session.js';
import type { Overview, Zone } from '../../types.js';

interface NoRecordsProps {
  readonly zone: Zone;
  readonly isPastEnd: boolean;
  readonly isFiltered: boolean;
  /** Only certain records are shown to this credential. */
  readonly isLimited: boolean;
  readonly editable: boolean;
  readonly onNew: () => void;
}

export function NoRecords({ zone, isPastEnd: hasOthers, isFiltered, isLimited, editable, onNew }: NoRecordsProps) {
  if (hasOthers) return <PastEnd />;
  if (isFiltered) {
    const all = { search: undefined, type: undefined, proxied: undefined, tag: undefined, page: undefined };
    return (
      <Empty title="No record fits">
        <p>
          No record of this zone fits the filters. <Link href={withQuery(all)}>Show all records</Link>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title={isLimited ? 'There are no records that you may see' : 'This zone has no records yet'}>
      <p>
        {isLimited
          ? 'Your credential is limited to records of certain names or types; the zone may have others.'
          : 'The SOA record and the name servers are there by themselves. Add an address for a website, or where mail goes.'}
      </p>
      {!isLimited && zone.type === 'full' && zone.name_servers.length > 0 && (
        <Delegation nameServers={zone.name_servers} />
      )}
      {editable && <Button onClick={onNew} text="Add the first record" />}
    </Empty>
  );
}

/** How resolvers find the zone, and whether they can with the name servers of this installation. */
function Delegation({ nameServers }: { readonly nameServers: readonly string[] }) {
  const { administrator } = usePermissions();
  const { answer } = useLoad<Overview>(administrator ? '/overview' : undefined);
  const notice = answer?.result.notices.find(({ code }) => code === 'test-name-servers');
  return (
    <>
      <p>
        Resolvers find the zone when your registrar, or the zone above this one, has these name servers for it:{' '}
        <code>{nameServers.join(', ')}</code>
      </p>
      {notice && (
        <p>
          For now, these names do not exist for anybody else. <WithFlags text={notice.remedy} />
        </p>
      )}
    </>
  );
}
