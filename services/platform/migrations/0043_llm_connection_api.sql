-- The form in which a connection's model is asked; auto is chat/completions, or what the answer to
-- it asks for.

alter table llm_connections
  add column api text not null default 'auto'
    check (api in ('auto', 'chat_completions', 'responses'));
