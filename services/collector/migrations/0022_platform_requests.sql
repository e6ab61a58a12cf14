-- Lists without the requests to the platform itself read on past them: of an organization whose
-- programs ask for the status of their runs, that would be most of its traces.
create index traces_without_requests on traces (organization, start_time, trace_id)
where service is distinct from 'crew-platform-web';
