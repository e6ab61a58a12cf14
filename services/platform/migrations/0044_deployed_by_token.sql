-- The name of the token that deployed, which stays when the token and its audit are gone.
alter table crew_deployments add column token_name text check (length(token_name) <= 300);
