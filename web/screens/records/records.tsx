/** The records of a zone. */
import { pathWith } from '../../api.js';
import { useLoad } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { Paging } from '../../parts/paging.js';
import { Search } from '../../parts/search.js';
import { TableFrame } from '../../parts/table.js';
import { usePlace } from '../../router.js';
import type { ZoneScreenProps } from '../../screens.js';
import type { DnsRecord } from '../../types.js';

const PER_PAGE = 100;

export default function Records({ zone }: ZoneScreenProps) {
  const { query } = usePlace();
  const search = query.get('search') ?? '';
  const path = pathWith(`/zones/${zone.id}/dns_records`, {
    search,
    page: query.get('page') ?? undefined,
    per_page: PER_PAGE,
  });
  const { answer, error, busy, reload } = useLoad<DnsRecord[]>(path);
  return (
    <>
      <div class="tools">
        <Search name="search" label="Search records" placeholder="Search names, content, comments" />
      </div>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && <Loading what="records" />}
      {answer?.result.length === 0 && <Empty title="No records" />}
      {answer && answer.result.length > 0 && (
        <TableFrame label="Records" busy={busy}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
              <th scope="col">Content</th>
              <th scope="col">TTL</th>
            </tr>
          </thead>
          <tbody>
            {answer.result.map((record) => (
              <tr key={record.id}>
                <th scope="row" class="mono">
                  {record.name}
                </th>
                <td>{record.type}</td>
                <td class="mono">{record.content}</td>
                <td>{record.ttl === 1 ? 'Automatic' : record.ttl}</td>
              </tr>
            ))}
          </tbody>
        </TableFrame>
      )}
      {answer?.info && <Paging info={answer.info} noun="records" />}
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}
